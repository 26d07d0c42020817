"""Rows of tasks for people and for files, and published rows of CLRS-Text out of files that other people made."""
