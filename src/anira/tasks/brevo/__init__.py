"""BREVO: all that a node of a graph depends on, in depth-first order (Allen-Zhu, Physics of Language Models 4.1)."""

from anira.tasks.brevo.task import Brevo, BrevoConfig

__all__ = ["Brevo", "BrevoConfig"]
