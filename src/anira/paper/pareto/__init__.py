"""Accuracy against depth for other rules and thresholds of selection."""
