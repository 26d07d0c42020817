"""Continuous depth batching: many requests, one batch of the core."""

from anira.inference.engine.engine import Engine
from anira.inference.engine.requests import Generated, Handle, Token

__all__ = ["Engine", "Generated", "Handle", "Token"]
