"""The keys that encrypt the keys of projects, from the files that the operator rotates: `install()`, before Simple Crypto.

The file with the highest number is the primary key, which encrypts. All decrypt. Key 0 is the next primary: it is in
every pod before one encrypts with it. Simple Crypto would read its keys only once, and has a default that is public.
"""

from pathlib import Path

from barbican.plugin.crypto import simple_crypto

FOLDER = Path("/etc/barbican/kek")


def keys():
    """The keys, the primary first. The kubelet replaces all files at once, so a missing one is read again."""
    try:
        return _read()
    except FileNotFoundError:
        return _read()


def _read():
    numbers = sorted((int(path.name) for path in FOLDER.iterdir() if path.name.isdecimal()), reverse=True)
    if not numbers:
        raise RuntimeError(f"{FOLDER} contains no key")
    return [(FOLDER / str(number)).read_text(encoding="ascii").strip() for number in numbers]


def install():
    def ignore(_plugin, _keys):
        """What the constructor would set."""

    simple_crypto.SimpleCryptoPlugin.master_keys = property(lambda _plugin: keys(), ignore)
