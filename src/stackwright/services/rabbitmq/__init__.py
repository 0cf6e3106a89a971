"""Everything that Stackwright knows about rabbitmq."""
