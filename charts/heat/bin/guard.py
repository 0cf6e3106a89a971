"""Bounds what a template can cause in Heat: `install()`, before the program starts.

Templates by URL are not fetched: Heat would request any address in the network of the cloud, and quote the response in its
errors. Clients such as `openstack stack create` resolve nested templates themselves and send them as files. Aliases are
bounded (aliases.py).
"""

import aliases
from heat.common import template_format, urlfetch

FETCH = "templates are not fetched by URL; send nested templates as files, as the openstack command does"


def install():
    fetch = urlfetch.get

    def local(url, allowed_schemes=("http", "https")):
        """Only files of Heat itself, where it permits them."""
        if "file" not in allowed_schemes or not url.startswith("file:"):
            raise urlfetch.URLFetchError(FETCH)
        return fetch(url, allowed_schemes=("file",))

    urlfetch.get = local
    template_format.yaml_loader = aliases.bounded(template_format.yaml_loader)
