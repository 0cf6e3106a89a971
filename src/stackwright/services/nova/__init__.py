"""Everything that Stackwright knows about nova."""
