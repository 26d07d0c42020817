"""Plain generators: one instance at a time, in plain Python, straight from the laws in docs/tasks.md.

They are the yardstick of `anira bench tasks` and the oracle of the tests, so they take nothing but the configuration
from `anira.tasks`.
"""
