"""Presets by name: <task>-<variant>-<scale>, with scale smoke (seconds), cpu (minutes on two cores) or paper (a GPU).

The paper scale is the paper's table of hyper-parameters, unchanged. What it leaves open is in docs/method.md. A task
may have a second setting under a name of its own: words-z6 is the task words over another group, wordmath-final is
wordmath with the last number as its whole answer.
"""

from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from anira.config import UserError, nearest
from anira.models.policies import policy_class
from anira.tasks import task_names
from anira.training.config import VARIANTS, TrainConfig, variant_model
from anira.training.text_presets import is_text_preset, text_preset

SCALES: Final = ("smoke", "cpu", "paper")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One task at one scale; the variants share it."""

    max_depth: int
    hidden_size: int
    intermediate_size: int
    max_length: int
    batch_size: int
    learning_rate: float
    gamma: float
    base: float
    num_attention_heads: int = 8
    num_coda_layers: int = 1
    initializer_range: float = 0.02
    injection: str = "none"
    zero_start: bool = False
    task: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)


_PAPER_RUN: Final = {
    "steps": 250_000,
    "warmup_steps": 1000,
    "log_every": 100,
    "eval_every": 5000,
    "checkpoint_every": 5000,
}

PAPER: Final[dict[str, Setting]] = {
    "mano": Setting(
        max_depth=14,
        hidden_size=256,
        intermediate_size=1664,
        max_length=64,
        batch_size=512,
        learning_rate=1e-4,
        gamma=0.1,
        base=1.25,
        run=_PAPER_RUN,
    ),
    "brevo": Setting(
        max_depth=6,
        hidden_size=512,
        intermediate_size=2048,
        max_length=256,
        batch_size=64,
        learning_rate=1e-3,
        gamma=0.1,
        base=2.0,
        run=_PAPER_RUN,
    ),
}
PAPER["depo"] = replace(PAPER["brevo"], learning_rate=3e-4)
PAPER["lano"] = replace(PAPER["brevo"], max_length=512, learning_rate=1e-4, gamma=0.01, base=1.0)
# Rows of a step differ in length by a factor of 50: in one part five of six tokens would be padding, in eight parts one
# of four. The counts are for 175 subtasks and sizes, not for a handful of knobs.
PAPER["clrs"] = replace(
    PAPER["brevo"],
    max_length=4096,
    batch_size=32,
    learning_rate=1e-4,
    gamma=0.01,
    run={**_PAPER_RUN, "accumulation": 8, "eval_every": 25_000, "eval_count": 20, "final_count": 100},
)

# Narrow models learn several times faster with weights of 1/sqrt(hidden_size) than with Llama's 0.02, with the
# prelude's output added at every iteration, and with a shorter memory of the optimizer. A rate that falls to zero gains
# some points at the end, and a constant gamma of 0.1 costs none (docs/results.md).
_CPU_RUN: Final = {"warmup_steps": 100, "schedule": "linear", "betas": (0.9, 0.98)}
# Runs of LANO and CLRS from before that was found are compared with each other.
_FORMER_RUN: Final = {"warmup_steps": 100, "gamma_warmup_steps": 3000, "betas": (0.9, 0.98)}

CPU: Final[dict[str, Setting]] = {
    # Of all settings of MANO that were tried, the one in which depth is needed most: just short of our rule
    # (docs/results.md). Small expressions are few: some are kept from training. Rows are moved, so that the place of
    # an answer does not tell the number of operators.
    "mano": Setting(
        max_depth=6,
        hidden_size=64,
        intermediate_size=256,
        max_length=29,
        batch_size=128,
        learning_rate=2e-3,
        gamma=0.1,
        base=1.25,
        num_attention_heads=4,
        num_coda_layers=0,
        initializer_range=0.125,
        injection="add",
        zero_start=True,
        task={"modulus": 2, "min_size": 1, "max_size": 10},
        run={**_CPU_RUN, "steps": 10_000, "max_offset": 4, "held_out": 0.1},
    ),
}
CPU["brevo"] = replace(
    CPU["mano"],
    max_length=64,
    batch_size=64,
    base=2.0,
    num_coda_layers=1,
    task={"min_nodes": 3, "max_nodes": 8},
    run={**_CPU_RUN, "steps": 8000, "max_offset": 8, "held_out": 0.1},
)
# With three hops, or with larger cycles, nothing was learned in 1,500 steps and more (docs/results.md).
CPU["depo"] = replace(
    CPU["brevo"],
    max_depth=4,
    max_length=36,
    task={"min_nodes": 3, "max_nodes": 5, "max_hops": 2, "max_queries": 5, "eval_sizes": [3, 4, 5]},
    run={**_CPU_RUN, "steps": 5000},
)
CPU["lano"] = replace(
    CPU["depo"],
    max_length=96,
    batch_size=32,
    gamma=0.01,
    base=1.0,
    zero_start=False,
    task={"start_symbol": 16, "packed_length": 96},
    run={**_FORMER_RUN, "steps": 3000, "gamma_warmup_steps": 1500, "final_count": 500},
)
# Four subtasks with rows of up to 108 tokens (sort at 10 and bfs at 7 and 10 are left out). The model has room for
# larger sizes in evaluation.
CPU["clrs"] = replace(
    CPU["lano"],
    max_length=162,
    base=2.0,
    task={"tasks": ["minimum", "binary_search", "sort", "bfs"], "sizes": [4, 5, 7, 10], "max_length": 120},
    run={**_FORMER_RUN, "steps": 6000, "eval_every": 1500, "eval_count": 100, "final_count": 500},
)

# Every prefix of a word is asked about, so all words may have the largest length: nothing is padded. Without a coda
# layer a model trained at depth 1 fails at long words; with one it learns them almost as well (docs/results.md).
CPU["words"] = replace(
    CPU["mano"],
    max_depth=5,
    max_length=17,
    task={"group": "S3", "min_letters": 10, "max_letters": 10},
    run={**_CPU_RUN, "steps": 2000, "max_offset": 5},
)
CPU["words-z6"] = replace(CPU["words"], task={**CPU["words"].task, "group": "Z6"})

# Rows of four clauses have up to 81 tokens with their offset; the model has room for six, two beyond training.
CPU["wordmath"] = replace(
    CPU["words"],
    max_depth=4,
    max_length=109,
    batch_size=32,
    task={"clauses": [1, 2, 3, 4]},
    run={**CPU["words"].run, "steps": 3000},
)

# One number behind the question, for which all operations have to be carried out at once, takes longer to learn.
CPU["wordmath-final"] = replace(
    CPU["wordmath"],
    task={**CPU["wordmath"].task, "answer": "final"},
    run={**CPU["wordmath"].run, "steps": 9000},
)

_TASK_OF: Final = {"words-z6": "words", "wordmath-final": "wordmath"}
"""The tasks of settings that do not have their task's name."""

_SMOKE_RUN: Final = {
    "steps": 20,
    "warmup_steps": 5,
    "log_every": 5,
    "eval_every": 10,
    "eval_count": 16,
    "final_count": 32,
    "checkpoint_every": 10,
}

_SIZES: Final = (
    "max_depth",
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_coda_layers",
    "initializer_range",
    "injection",
)
"""What a setting says about the model of every variant."""

# A decider that starts with zeros still decides alike everywhere after twenty steps: there would be nothing to see.
_SPREAD: Final = {"max_depth": 4, "num_coda_layers": 1, "gamma": 0.01, "base": 1.5, "zero_start": False}

_SMOKE: Final[dict[str, dict[str, Any]]] = {
    "mano": {**_SPREAD, "max_length": 11, "task": {"modulus": 5, "min_size": 1, "max_size": 3}},
    "brevo": {**_SPREAD, "gamma": 0.02, "max_length": 38, "task": {"min_nodes": 3, "max_nodes": 6}},
    "depo": _SPREAD,
    "clrs": {"task": {"tasks": ["minimum", "sort"], "sizes": [3, 4]}},
}
"""Where the smoke scale is more than a narrow model and few steps of the cpu scale."""


def preset(name: str, *, seed: int = 0) -> TrainConfig:
    """Return the run that a name stands for.

    >>> preset("mano-anira-o-paper").model["policy"]["gamma"], preset("mano-anira-o-paper").steps
    (0.1, 250000)
    """
    if is_text_preset(name):
        return text_preset(name, seed=seed)
    task, variant, scale = _split(name)
    setting = _setting(task, scale)
    task = _TASK_OF.get(task, task)
    model = variant_model(variant)
    policy = {"name": model["policy"]["name"]}
    known = {field.name for field in fields(policy_class(policy["name"]).Options)}
    options = ("gamma", "base", *["zero_start"] * setting.zero_start)
    policy.update({key: getattr(setting, key) for key in options if key in known})
    return TrainConfig(
        preset=name,
        variant=variant,
        task=task,
        task_config=dict(setting.task),
        model={**{size: getattr(setting, size) for size in _SIZES}, **model, "policy": policy},
        seed=seed,
        batch_size=setting.batch_size,
        learning_rate=setting.learning_rate,
        max_length=setting.max_length,
        **setting.run,
    )


def preset_names() -> list[str]:
    """Return the names of all presets of our own tasks and variants."""
    return [f"{task}-{variant}-{scale}" for task in CPU for variant in VARIANTS for scale in _scales(task)]


def _split(name: str) -> tuple[str, str, str]:
    task = max((known for known in setting_names() if name.startswith(f"{known}-")), key=len, default="")
    variant, _, scale = name.removeprefix(f"{task}-").rpartition("-")
    if not task or scale not in SCALES or not variant:
        raise UserError(f"unknown preset {name!r}: {_forms(name)}")
    return task, variant, scale


def _forms(name: str) -> str:
    """Say which presets there are, of the task that a name begins with if there is one.

    >>> _forms("mano")
    'presets of mano are mano-<anira-e|anira-o|fixed|unshared|policy>-<smoke|cpu|paper>'
    """
    task = max((known for known in setting_names() if f"{name}-".startswith(f"{known}-")), key=len, default="")
    if not task:
        return f"a preset is <task>-<variant>-<scale>; tasks: {nearest(name.partition('-')[0], setting_names())}"
    return f"presets of {task} are {task}-<{'|'.join([*VARIANTS, 'policy'])}>-<{'|'.join(_scales(task))}>"


def setting_names() -> list[str]:
    """Return what a preset's name may begin with."""
    return [*task_names(), *_TASK_OF]


def _scales(task: str) -> list[str]:
    return [scale for scale in SCALES if scale != "paper" or task in PAPER]


def _setting(task: str, scale: str) -> Setting:
    if scale == "paper":
        if task not in PAPER:
            raise UserError(f"the paper has no setting for task {task!r}: use scale smoke or cpu")
        return PAPER[task]
    cpu = CPU.get(task) or replace(CPU["depo"], task={}, max_length=128)
    if scale == "cpu":
        return cpu
    small = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2, "batch_size": 16}
    return replace(cpu, **{**small, "run": _SMOKE_RUN, **_SMOKE.get(task, {})})
