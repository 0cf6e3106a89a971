"""Everything that Stackwright knows about placement."""
