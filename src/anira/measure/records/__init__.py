"""From folders to records in memory: which evaluations there are, what was asked, and the tables, checked."""
