"""Alignment without need: does depth rise where depth 1 would do? Registered in docs/studies.md."""
