"""Accuracy and depth over training: the order in which sizes are learned, the two phases."""
