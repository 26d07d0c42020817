"""Measured time and cache bytes of decoding against depth."""
