"""LANO: sentences of the probabilistic grammar cfg3b, an incremental parser, and what it finds at every token."""

from anira.tasks.lano.grammar import CFG3B, Grammar, Rule
from anira.tasks.lano.language import derivation_entropy, entropy_floor, length_distribution, mean_length
from anira.tasks.lano.normal_form import NormalForm, normal_form
from anira.tasks.lano.prefix_parser import PrefixParser, TokenFeatures, token_features
from anira.tasks.lano.prefix_probabilities import PrefixProbabilities, StringProbabilities, string_probabilities
from anira.tasks.lano.sampler import Sampler, Strings
from anira.tasks.lano.task import Lano, LanoConfig

__all__ = [
    "CFG3B",
    "Grammar",
    "Lano",
    "LanoConfig",
    "NormalForm",
    "PrefixParser",
    "PrefixProbabilities",
    "Rule",
    "Sampler",
    "StringProbabilities",
    "Strings",
    "TokenFeatures",
    "derivation_entropy",
    "entropy_floor",
    "length_distribution",
    "mean_length",
    "normal_form",
    "string_probabilities",
    "token_features",
]
