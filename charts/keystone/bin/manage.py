"""keystone-manage with the cache of the API, so that what it changes is no longer answered from there as it was before."""

import sys

import sealed_cache

sealed_cache.install()

from keystone.cmd.manage import main  # noqa: E402

sys.argv[0] = "keystone-manage"
main()
