"""Accuracy and depth against input size, for every subtask of CLRS-Text."""
