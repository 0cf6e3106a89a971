"""Bounds on YAML whose aliases repeat a value: a template of 600 bytes could expand to gigabytes."""

LARGEST = 16 << 20  # bytes of a text with all aliases expanded, about
NODE = 16  # bytes for each value
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


def bounded(loader):
    """A loader of PyYAML that refuses such a text."""

    class Loader(loader):
        def get_single_data(self):
            found = super().get_single_data()
            try:
                large = size(found, {}) > LARGEST
            except RecursionError:
                large = True
            if large:
                raise ValueError(EXPANDS)
            return found

    return Loader
