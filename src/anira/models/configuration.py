"""The one configuration of a model: backbone and policy, as Hugging Face stores it."""

from typing import Any, Literal

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

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
}


@strict
class AniraConfig(PreTrainedConfig):
    """A prelude-recurrent-coda transformer with a compute policy.

    >>> AniraConfig(vocab_size=30, policy={"name": "anira-o", "gamma": 0.1, "base": 1.25}).freeze
    'state'
    """

    model_type = "anira"
    keys_to_ignore_at_inference = ["past_key_values", "losses"]  # noqa: RUF012 (as Hugging Face declares it)

    vocab_size: int = 32
    hidden_size: int = 512
    intermediate_size: int = 2048
    num_attention_heads: int = 8
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    num_prelude_layers: int = 1
    num_core_layers: int = 1
    num_coda_layers: int = 1
    max_depth: int = 6
    shared_core: bool = True
    freeze: str | None = None
    injection: str = "none"
    initial_state: str = "prelude"
    initial_state_std: float = 1.0
    policy: dict[str, Any] | None = None
    hidden_act: str = "silu"
    max_position_embeddings: int = 4096
    initializer_range: float = 0.02
    rms_norm_eps: float = 1e-6
    rope_parameters: dict[str, Any] | None = None
    attention_bias: bool = False
    attention_dropout: float = 0.0
    mlp_bias: bool = False
    tie_word_embeddings: bool = False
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        known = set(self.__dataclass_fields__)
        for key in kwargs:
            if key not in known | _HUGGING_FACE_KEYS:
                raise UserError(f"unknown key {key!r} in AniraConfig: {nearest(key, known)}")
        self.policy = resolve_policy({"name": "anira-e"} if self.policy is None else self.policy)
        self._check_sizes()
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

    def _check_sizes(self) -> None:
        least = {"num_prelude_layers": 0, "num_coda_layers": 0, "num_core_layers": 1, "max_depth": 1, "vocab_size": 1}
        for name, low in least.items():
            if getattr(self, name) < low:
                raise UserError(f"{name} must be at least {low}, not {getattr(self, name)}")
        heads, kv_heads = self.num_attention_heads, self.num_key_value_heads
        if self.hidden_size % heads:
            raise UserError(f"hidden_size {self.hidden_size} must be a multiple of num_attention_heads {heads}")
        if kv_heads is not None and (kv_heads < 1 or heads % kv_heads):
            raise UserError(f"num_attention_heads {heads} must be a multiple of num_key_value_heads {kv_heads}")
        if (self.head_dim or self.hidden_size // heads) % 2:
            raise UserError("the dimension of a head must be even (rotary embedding): change hidden_size or the heads")

    def _check_core(self) -> None:
        assert self.policy is not None
        _check_choice("injection", self.injection, ("none", "add", "concat-linear"))
        _check_choice("initial_state", self.initial_state, ("prelude", "zero", "random"))
        if self.initial_state != "prelude" and self.injection == "none":
            raise UserError(
                f"initial_state {self.initial_state!r} needs an injection, else the core never sees the input"
            )
        if self.freeze is None:
            self.freeze = "state" if self.num_core_layers == 1 else "kv"
        _check_choice("freeze", self.freeze, ("state", "kv"))
        if self.freeze == "state" and self.num_core_layers > 1:
            raise UserError(
                "freeze='state' is exact for a core of one layer only: use freeze='kv' (or leave it out) with "
                f"num_core_layers={self.num_core_layers}"
            )
        if not self.shared_core and policy_class(self.policy["name"]).timing != "none":
            raise UserError(
                f"an unshared core takes the fixed policy only, not {self.policy['name']!r}: set shared_core=True, or "
                "policy={'name': 'fixed'}"
            )


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UserError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
