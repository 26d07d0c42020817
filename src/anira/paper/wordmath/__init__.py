"""Word problems whose number of clauses is known: the paper's table of GSM-Symbolic at a size that a CPU can train."""
