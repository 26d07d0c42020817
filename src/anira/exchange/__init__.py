"""Rows of tasks to files, and published rows of CLRS-Text out of files that other people made."""
