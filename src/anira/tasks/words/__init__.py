"""Group words: the product of the letters of a word, over a group that needs depth or over its abelian twin."""

from anira.tasks.words.groups import GROUPS, TWINS, Group, make_group
from anira.tasks.words.task import Baselines, Words, WordsConfig

__all__ = ["GROUPS", "TWINS", "Baselines", "Group", "Words", "WordsConfig", "make_group"]
