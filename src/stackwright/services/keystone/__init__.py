"""Everything that Stackwright knows about keystone."""
