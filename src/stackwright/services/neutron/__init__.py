"""Everything that Stackwright knows about neutron."""
