"""GSM-Symbolic: the paper's table with ours beside it, and the fixed-depth curve as the fair baseline (notes.md)."""
