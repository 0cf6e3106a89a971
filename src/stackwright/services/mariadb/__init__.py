"""Everything that Stackwright knows about mariadb."""
