"""Pages of tables and drawn charts, until they have moved to the page engine."""
