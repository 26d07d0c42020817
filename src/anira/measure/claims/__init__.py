"""Claims about depth and their verdicts."""
