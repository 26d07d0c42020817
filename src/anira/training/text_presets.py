"""Presets of runs on text: <name>-<variant>-<scale>, with names

gsm: the paper's fine-tuning for GSM-Symbolic (section 6): D = 8, 5B tokens in batches of 32 x 4096, rate 2e-5,
    gamma 0.1. Without a scale it is the paper's: gsm-anira-o.
retrofit: the recipe with which the base model was made from Llama (McLeish et al. 2025): Muon, random depth with a
    ramp, truncated gradient. Its variant is huginn.
text: a small model from scratch, for text of your own.

At paper scale a run starts from a released model, named with --init-from; its shape is then taken from there, and the
one below serves the estimate. What the paper leaves open is in docs/method.md.
"""

from dataclasses import dataclass, field, fields
from typing import Any, Final

from anira.config import UserError
from anira.models.policies import policy_class
from anira.text import TextConfig
from anira.training.config import TrainConfig, variant_model

TEXT: Final = "text"


@dataclass(frozen=True, kw_only=True)
class TextSetting:
    """One way to train on text; the variants share it."""

    model: dict[str, Any]
    policy: dict[str, Any] = field(default_factory=dict)
    """Options of the policies that have them."""
    text: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any]


RECURRENT_LLAMA: Final = {
    "vocab_size": 128256,
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "num_prelude_layers": 4,
    "num_core_layers": 6,
    "num_coda_layers": 4,
    "max_depth": 8,
    "injection": "concat-linear",
    "initial_state": "zero",
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 131072,
    "rope_parameters": {
        "rope_type": "llama3",
        "rope_theta": 500000.0,
        "factor": 32.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
    "bos_token_id": 128000,
    "eos_token_id": 128001,
}
"""The shape of Recurrent-Llama-3.2, 1.39B parameters."""

_PAPER: Final = {"eval_every": 1000, "eval_count": 32, "final_count": 256, "checkpoint_every": 500, "held_out": 0.001}
_GSM: Final = TextSetting(
    model=RECURRENT_LLAMA,
    policy={"gamma": 0.1, "base": 1.25},
    text={"subset": "4plus"},
    run={
        **_PAPER,
        "steps": 38_147,  # 5B tokens
        "batch_size": 32,
        "max_length": 4096,
        "accumulation": 8,  # a row at a time on each of four GPUs: the logits of one take 2 GB
        "learning_rate": 2e-5,
        "warmup_steps": 1000,
        "log_every": 10,
    },
)
_RETROFIT: Final = TextSetting(
    model=RECURRENT_LLAMA,
    policy={"ramp": 0.75},
    text={"subset": "4plus"},
    run={
        **_PAPER,
        "steps": 50_000,
        "batch_size": 1024,
        "max_length": 1025,  # so that 1024 are predicted
        "accumulation": 8,  # two rows at a time on each of 64 GPUs
        "learning_rate": 5e-5,
        "muon_rate": 1e-3,
        "betas": (0.9, 0.95),
        "weight_decay": 1e-4,
        "warmup_steps": 125,
        "schedule": "linear",
        "decay_share": 0.6,
        "log_every": 10,
    },
)

_SMALL_MODEL: Final = {
    "hidden_size": 128,
    "intermediate_size": 512,
    "num_attention_heads": 4,
    "max_depth": 4,
    "injection": "add",
    "initializer_range": 0.088,
}
_CPU: Final = TextSetting(
    model=_SMALL_MODEL,
    policy={"gamma": 0.1, "base": 1.25, "zero_start": True},
    text={"tokenizer": "bytes"},
    run={
        "steps": 200,
        "batch_size": 8,
        "max_length": 128,
        "learning_rate": 2e-3,
        "warmup_steps": 20,
        "schedule": "linear",
        "betas": (0.9, 0.98),
        "held_out": 0.05,
        "log_every": 20,
        "eval_every": 100,
        "eval_count": 32,
        "final_count": 64,
        "checkpoint_every": 100,
    },
)
_SMOKE_RUN: Final = {
    "steps": 10,
    "batch_size": 4,
    "max_length": 32,
    "accumulation": 1,
    "warmup_steps": 2,
    "held_out": 0.1,
    "log_every": 5,
    "eval_every": 5,
    "eval_count": 2,
    "final_count": 4,
    "checkpoint_every": 5,
}
_SMOKE_MODEL: Final = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_attention_heads": 2,
    "num_prelude_layers": 1,
    "num_core_layers": 2,
    "num_coda_layers": 1,
    "max_depth": 3,
    "injection": "concat-linear",
    "initial_state": "zero",
}


def _smoke(paper: TextSetting) -> TextSetting:
    """Return the same recipe for a tiny model, on text of bytes."""
    return TextSetting(
        model=_SMOKE_MODEL, policy=paper.policy, text={"tokenizer": "bytes"}, run={**paper.run, **_SMOKE_RUN}
    )


SETTINGS: Final[dict[str, dict[str, TextSetting]]] = {
    "gsm": {"smoke": _smoke(_GSM), "paper": _GSM},
    "retrofit": {"smoke": _smoke(_RETROFIT), "paper": _RETROFIT},
    "text": {"smoke": _smoke(_CPU), "cpu": _CPU},
}


def is_text_preset(name: str) -> bool:
    """Say whether a preset's name is that of a run on text."""
    return name.partition("-")[0] in SETTINGS


def text_preset(name: str, *, seed: int = 0) -> TrainConfig:
    """Return the run that a name stands for.

    >>> config = text_preset("gsm-anira-o")
    >>> config.preset, config.steps * config.batch_size * config.max_length / 1e9
    ('gsm-anira-o-paper', 5.000003584)
    """
    kind, variant, scale = _split(name)
    setting = SETTINGS[kind][scale]
    model = variant_model(variant)
    known = {one.name for one in fields(policy_class(model["policy"]["name"]).Options)}
    policy = {**model["policy"], **{key: value for key, value in setting.policy.items() if key in known}}
    return TrainConfig(
        preset=f"{kind}-{variant}-{scale}",
        variant=variant,
        task=TEXT,
        text=TextConfig(**setting.text),
        model={**setting.model, **model, "policy": policy},
        seed=seed,
        **setting.run,
    )


def check_start(config: TrainConfig) -> None:
    """Raise a UserError if a preset that goes on from a released model is not told from which."""
    if config.text is not None and config.preset.endswith("-paper") and not config.init_from:
        raise UserError(
            f"{config.preset} goes on from a released model: name its folder, as anira convert makes it, with "
            "--init-from"
        )


def text_preset_names() -> list[str]:
    """Return the names of the presets of our own variants."""
    own = {"retrofit": ("huginn",)}
    names = [(kind, own.get(kind, ("anira-e", "anira-o", "fixed"))) for kind in SETTINGS]
    return [f"{kind}-{variant}-{scale}" for kind, some in names for variant in some for scale in SETTINGS[kind]]


def _split(name: str) -> tuple[str, str, str]:
    kind, _, rest = name.partition("-")
    variant, _, scale = rest.rpartition("-")
    if scale in SETTINGS[kind]:
        if variant:
            return kind, variant, scale
    elif rest and "paper" in SETTINGS[kind]:
        return kind, rest, "paper"
    scales = "|".join(SETTINGS[kind])
    raise UserError(f"unknown preset {name!r}: presets of {kind} are {kind}-<anira-e|anira-o|fixed|policy>-<{scales}>")
