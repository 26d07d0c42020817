"""The one configuration of a model: backbone and policy, as Hugging Face stores it."""

import math
from collections.abc import Iterable
from typing import Any, Final, Literal

import transformers
from huggingface_hub.dataclasses import strict
from packaging.version import Version
from transformers import PreTrainedConfig
from transformers.utils import logging

from anira.config import UserError, nearest
from anira.models.policies import policy_class, resolve_policy

Freeze = Literal["state", "kv"]

# Keys that Hugging Face itself adds to a config.json, or passes on when it loads one.
_HUGGING_FACE_KEYS = {
    "model_type",
    "_name_or_path",
    "name_or_path",
    "attn_implementation",
    "torch_dtype",
    "output_attentions",
    "auto_map",
    "quantization_config",
}


@strict
class AniraConfig(PreTrainedConfig):
    """A prelude-recurrent-coda transformer with a compute policy.

    >>> AniraConfig(vocab_size=30, policy={"name": "anira-o", "gamma": 0.1, "base": 1.25}).freeze
    'state'
    """

    model_type = "anira"
    keys_to_ignore_at_inference = ["past_key_values", "losses"]  # noqa: RUF012 (as Hugging Face declares it)

    # A choice among strings is a `str`, not a Literal: Hugging Face would refuse it before our message can.
    vocab_size: int = 32
    """Tokens in the vocabulary."""
    hidden_size: int = 512
    """Width of a token's state."""
    intermediate_size: int = 2048
    """Width of the feed-forward parts, the policy's decider among them."""
    num_attention_heads: int = 8
    """Attention heads of a layer; hidden_size must be a multiple."""
    num_key_value_heads: int | None = None
    """Heads of keys and values; None: as many as attention heads."""
    head_dim: int | None = None
    """Width of a head; None: hidden_size / num_attention_heads."""
    num_prelude_layers: int = 1
    """Layers before the core, run once."""
    num_core_layers: int = 1
    """Layers of the core, all run in every iteration."""
    num_coda_layers: int = 1
    """Layers after the core, run once."""
    max_depth: int = 6
    """Most iterations of the core that a token can get."""
    shared_core: bool = True
    """Whether all iterations use the same layers; without, each has its own."""
    freeze: str | None = None
    """What others see of a halted token: its state (core of one layer only) or its last keys and values (kv); None:
    state for one core layer, else kv. first: the keys and values of the first iteration are seen in all of them."""
    injection: str = "none"
    """How an iteration sees the prelude's output again: none, add, or concat-linear."""
    initial_state: str = "prelude"
    """State before the first iteration: prelude (its output), zero, or random; the last two need an injection."""
    initial_state_std: float = 1.0
    """Standard deviation of initial_state random."""
    block_norm: str = "pre"
    """Norms of a layer: pre (before attention and feed-forward part), branch (also on what each adds: Ouro), or sum
    (also on the sums: Huginn)."""
    core_norm: str = "none"
    """A second use of the final norm: fed-back (after every iteration; its output is the state), coda (on what the
    coda reads), or none."""
    rms_norm: str = "fast"
    """Arithmetic of norms: fast, or stock (in Hugging Face's order of operations, for models cut from theirs)."""
    embedding_scale: float = 1.0
    """What embeddings are multiplied with."""
    policy: Any = None
    """The compute policy: a name, or {"name": ..., option: value, ...}; None: anira-e. Stored with all its options."""
    hidden_act: str = "silu"
    """Activation of the feed-forward parts."""
    max_position_embeddings: int = 4096
    """Longest row that the model is meant for."""
    initializer_range: float = 0.02
    """Standard deviation of the weights at the start."""
    rms_norm_eps: float = 1e-6
    rope_parameters: dict[str, Any] | None = None
    attention_bias: bool | str = False
    """Biases of attention: of all four projections, of none, or of some: qk, or qkv."""
    qk_norm: bool = False
    """Norm queries and keys, head by head."""
    attention_dropout: float = 0.0
    mlp_bias: bool = False
    tie_word_embeddings: bool = False
    """Use the embedding's weights as the head's."""
    origin: dict[str, Any] | None = None
    """Where the weights came from: the family, its configuration, and of a retrofitted model which layer is which."""
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        self._check_keys(kwargs)
        self.policy = resolve_policy("anira-e" if self.policy is None else self.policy)
        self._check_sizes()
        self._check_layers()
        self._check_core()
        if self.num_key_value_heads is None:
            self.num_key_value_heads = self.num_attention_heads
        if self.head_dim is None:
            self.head_dim = self.hidden_size // self.num_attention_heads
        super().__post_init__(**kwargs)

    @property
    def num_hidden_layers(self) -> int:
        """Layers with parameters of their own."""
        groups = 1 if self.shared_core else self.max_depth
        return self.num_prelude_layers + groups * self.num_core_layers + self.num_coda_layers

    def _check_keys(self, given: Iterable[str]) -> None:
        """Refuse unknown keys, unless a newer transformers wrote them: it may have fields that this one has not."""
        known = set(self.__dataclass_fields__)
        for key in given:
            if key in known | _HUGGING_FACE_KEYS:
                continue
            if Version(self.transformers_version or "0") <= Version(transformers.__version__):
                raise UserError(f"unknown key {key!r} in AniraConfig: {nearest(key, known)}")
            logging.get_logger(__name__).warning(
                f"{key!r} was written by transformers {self.transformers_version}, and is not known here"
            )

    def _check_sizes(self) -> None:
        for name, low in _LEAST.items():
            if not low <= getattr(self, name) < math.inf:  # neither is NaN
                raise UserError(f"{name} must be at least {low}, not {getattr(self, name)}")
        heads, kv_heads = self.num_attention_heads, self.num_key_value_heads
        if self.head_dim is None and self.hidden_size % heads:
            raise UserError(f"hidden_size {self.hidden_size} must be a multiple of num_attention_heads {heads}")
        if kv_heads is not None and (kv_heads < 1 or heads % kv_heads):
            raise UserError(f"num_attention_heads {heads} must be a multiple of num_key_value_heads {kv_heads}")
        if (self.head_dim or self.hidden_size // heads) % 2:
            raise UserError("the dimension of a head must be even (rotary embedding): change hidden_size or the heads")

    def _check_layers(self) -> None:
        _check_choice("block_norm", self.block_norm, ("pre", "branch", "sum"))
        _check_choice("core_norm", self.core_norm, ("none", "fed-back", "coda"))
        _check_choice("rms_norm", self.rms_norm, ("fast", "stock"))
        if self.core_norm == "coda" and not self.num_coda_layers:
            raise UserError("core_norm='coda' is a norm between core and coda, and there are no coda layers")
        if not isinstance(self.attention_bias, bool) and self.attention_bias not in ("qk", "qkv"):
            raise UserError(f"attention_bias must be true, false, qk or qkv, not {self.attention_bias!r}")

    def _check_core(self) -> None:
        _check_choice("injection", self.injection, ("none", "add", "concat-linear"))
        _check_choice("initial_state", self.initial_state, ("prelude", "zero", "random"))
        if self.initial_state != "prelude" and self.injection == "none":
            raise UserError(
                f"initial_state {self.initial_state!r} needs an injection, else the core never sees the input"
            )
        if self.freeze is None:
            self.freeze = "state" if self.num_core_layers == 1 else "kv"
        _check_choice("freeze", self.freeze, ("state", "kv", "first"))
        if self.freeze == "state" and self.num_core_layers > 1:
            raise UserError(
                "freeze='state' is exact for a core of one layer only: use freeze='kv' (or leave it out) with "
                f"num_core_layers={self.num_core_layers}"
            )
        if self.freeze == "first" and (not self.shared_core or policy_class(self.policy["name"]).timing == "route"):
            raise UserError(
                "freeze='first' needs a shared core and a policy that runs the first iteration of every token, not "
                f"{self.policy['name']!r} with shared_core={self.shared_core}"
            )
        if policy_class(self.policy["name"]).causal == "probe" and self.num_coda_layers:
            raise UserError(
                f"policy {self.policy['name']!r} looks at logits through the coda, which is exact without coda layers "
                "only: set num_coda_layers=0"
            )
        if not self.shared_core and self.freeze == "kv" and policy_class(self.policy["name"]).timing != "none":
            raise UserError(
                f"an unshared core with freeze='kv' takes the fixed policy only, not {self.policy['name']!r}, because "
                "other layers have no keys of a halted token: set shared_core=True, or num_core_layers=1 with "
                "freeze='state'"
            )


_LEAST: Final = {
    **dict.fromkeys(("vocab_size", "hidden_size", "intermediate_size", "num_attention_heads", "num_core_layers"), 1),
    **dict.fromkeys(("max_depth", "max_position_embeddings"), 1),
    **dict.fromkeys(("num_prelude_layers", "num_coda_layers"), 0),
    **dict.fromkeys(("initial_state_std", "initializer_range", "rms_norm_eps", "attention_dropout"), 0),
    "embedding_scale": 0,
}


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UserError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
