"""Everything that Stackwright knows about ceph_rgw."""
