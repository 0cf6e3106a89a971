"""keystone-manage with the cache of the API, so that its changes invalidate cached values."""

import sys

import sealed_cache

sealed_cache.install()

from keystone.cmd.manage import main  # noqa: E402

sys.argv[0] = "keystone-manage"
main()
