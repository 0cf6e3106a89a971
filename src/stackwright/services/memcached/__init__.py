"""Everything that Stackwright knows about memcached."""
