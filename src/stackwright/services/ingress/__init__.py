"""Everything that Stackwright knows about ingress."""
