"""Everything that Stackwright knows about cinder."""
