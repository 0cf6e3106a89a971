"""Everything that Stackwright knows about glance."""
