"""Rational depth: regret of chosen depths against the best constant one. Registered in docs/studies.md."""
