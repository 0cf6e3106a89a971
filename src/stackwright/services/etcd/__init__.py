"""Everything that Stackwright knows about etcd."""
