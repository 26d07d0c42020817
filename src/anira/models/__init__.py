"""Prelude-recurrent-coda transformers whose depth is set, token by token, by an exchangeable compute policy."""

from anira.models.attach import attach_policy
from anira.models.cache import DepthCache
from anira.models.configuration import AniraConfig
from anira.models.modeling import AniraForCausalLM
from anira.models.noise import uniform_noise
from anira.models.output import AniraOutput
from anira.models.policies import register_policy
from anira.models.static import StaticDepthCache
from anira.models.tokenizer import TaskTokenizer

__all__ = [
    "AniraConfig",
    "AniraForCausalLM",
    "AniraOutput",
    "DepthCache",
    "StaticDepthCache",
    "TaskTokenizer",
    "attach_policy",
    "register_policy",
    "uniform_noise",
]
