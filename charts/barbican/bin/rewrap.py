"""Encrypts the keys of all projects with the primary key, after a rotation. Ends with 1 if one of them could not be.

Castellan's stores, such as Vault, have no such keys.
"""

import sys

from barbican.cmd import simple_crypto_kek_rewrap as rewrap

sys.path.append("/opt/stackwright")

import kek  # noqa: E402


class Rewrap(rewrap.SimpleCryptoKEKRewrap):
    """Counts, where Barbican only prints what failed."""

    done = failed = 0

    def rewrap_kek(self, project, kek_datum):
        try:
            super().rewrap_kek(project, kek_datum)
        except Exception:
            self.failed += 1
            raise
        self.done += 1


def main():
    kek.install()
    work = Rewrap(rewrap.CONF)
    work.master_keys = kek.keys()
    work.execute(dry_run=False)
    print(f"{work.done} keys of projects are encrypted with the primary key, {work.failed} are not", flush=True)
    sys.exit(1 if work.failed else 0)


main()
