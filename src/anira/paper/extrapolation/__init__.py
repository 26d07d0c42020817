"""MANO beyond the trained sizes: adaptive, fixed and unshared."""
