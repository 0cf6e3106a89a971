"""Bounds what a template can cause in Heat: `install()`, before the program starts.

Templates by URL are not fetched: Heat would request any address in the network of the cloud, and quote the response in its
errors. Clients such as `openstack stack create` resolve nested templates themselves and send them as files. An alias in
YAML repeats a value; a template of 600 bytes could expand to gigabytes.
"""

from heat.common import template_format, urlfetch

LARGEST = 16 << 20  # bytes of a template with all aliases expanded, about
NODE = 16  # bytes for each value
FETCH = "templates are not fetched by URL; send nested templates as files, as the openstack command does"
EXPANDS = f"The aliases in the template expand to more than {LARGEST >> 20} MiB"


def size(value, seen):
    """About the bytes of a value as text. `seen` holds the sizes by id, None for those that contain the value."""
    if not isinstance(value, (dict, list, tuple)):
        return NODE + (len(value) if isinstance(value, str) else 0)
    if id(value) in seen:
        known = seen[id(value)]
        if known is None:
            raise ValueError("An alias in the template refers to a value that contains it")
        return known
    seen[id(value)] = None
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    seen[id(value)] = total = NODE + sum(size(part, seen) for part in parts)
    return total


def install():
    fetch = urlfetch.get

    def local(url, allowed_schemes=("http", "https")):
        """Only files of Heat itself, where it permits them."""
        if "file" not in allowed_schemes or not url.startswith("file:"):
            raise urlfetch.URLFetchError(FETCH)
        return fetch(url, allowed_schemes=("file",))

    class Loader(template_format.yaml_loader):
        def get_single_data(self):
            found = super().get_single_data()
            try:
                large = size(found, {}) > LARGEST
            except RecursionError:
                large = True
            if large:
                raise ValueError(EXPANDS)
            return found

    urlfetch.get = local
    template_format.yaml_loader = Loader
