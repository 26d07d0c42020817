"""Same prior, different credit: lookahead and exact expectation at one price. Registered in docs/studies.md."""
