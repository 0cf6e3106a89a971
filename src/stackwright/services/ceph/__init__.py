"""Everything that Stackwright knows about ceph."""
