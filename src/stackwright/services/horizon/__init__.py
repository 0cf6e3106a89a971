"""Everything that Stackwright knows about horizon."""
