"""Same size, different need: words over S3 and over Z6. Registered in docs/studies.md before its runs were read."""
