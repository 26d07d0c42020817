"""Word problems: a few sentences of story, one operation per clause, and an answer worked out step by step."""

from anira.tasks.wordmath.sentences import SENTENCES, Sentence
from anira.tasks.wordmath.task import Baselines, Wordmath, WordmathConfig

__all__ = ["SENTENCES", "Baselines", "Sentence", "Wordmath", "WordmathConfig"]
