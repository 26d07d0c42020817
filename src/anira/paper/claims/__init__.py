"""Each claim of the paper, with the verdict of the figures that judge it."""
