"""What defines a training run: everything that its result depends on, and nothing else."""

from dataclasses import dataclass, field
from typing import Any, Literal

from anira.config import UserError, check_finite, from_dict, later, to_dict
from anira.models import AniraConfig
from anira.models.policies import policy_class
from anira.tasks import BlockTask, make_task
from anira.tasks.held_out import HeldOutTask
from anira.tasks.offset import OffsetTask
from anira.text import TextConfig

VARIANTS = ("anira-e", "anira-o", "fixed", "unshared")


_LEAST = {
    "seed": 0,
    "steps": 1,
    "batch_size": 1,
    "accumulation": 1,
    "warmup_steps": 0,
    "gamma_warmup_steps": 0,
    "max_length": 1,
    "max_offset": 0,
    "threads": 1,
    "log_every": 1,
    "eval_every": 1,
    "eval_count": 1,
    "final_count": 1,
    "checkpoint_every": 1,
}
_MOST = {"threads": 1024}  # torch dies of many more
_LARGEST = 2**63 - 1  # what seeds and the numbers of rows and steps fit into


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """How to train: the fields that are options of `anira train` as they stand."""

    seed: int = 0
    """Of the weights at the start, the training rows and the policy's noise."""
    steps: int = 1000
    """Optimizer steps."""
    batch_size: int = 64
    """Rows of a step, over all processes and accumulated parts."""
    accumulation: int = 1
    """Parts that a step's batch is split into, by length: they need less memory, and less padding."""
    learning_rate: float = 1e-3
    """Rate of AdamW after the warm-up."""
    warmup_steps: int = 100
    """The rate rises linearly over so many steps."""
    schedule: Literal["constant", "linear"] = later("constant")
    """What the rate does after the warm-up: stay, or fall linearly to zero at the end."""
    decay_share: float = later(1.0)
    """Share of the steps, at the end, over which schedule linear falls; 1: all after the warm-up."""
    muon_rate: float = later(0.0)
    """Rate of Muon on the matrices of the layers; embedding, head, norms and policy stay with AdamW. 0: AdamW alone."""
    lora: int = later(0)
    """Rank of adapters that are trained in place of the layers' matrices (LoRA, needs peft); 0: none."""
    gamma_warmup_steps: int = 0
    """The compute weight rises linearly over so many steps; 0 is the paper's constant weight."""
    betas: tuple[float, float] = (0.9, 0.999)
    """AdamW's decay rates of the means of gradients and of their squares."""
    weight_decay: float = 0.0
    """AdamW's weight decay."""
    clip: float = 1.0
    """Largest norm of the gradient."""
    max_offset: int = later(0)
    """Rows begin with up to so many more <bos>, at random, so that positions do not tell how hard an instance is."""
    held_out: float = later(0.0)
    """Share of the task's instances that training never reads; evaluations say how many of those are right."""
    max_length: int = 256
    """Longest row the model is built for; longer ones are an error."""
    init_from: str = later("")
    """Start with the weights of a finished run, such as mano-ouro-cpu/1f2e3d4c-s0; of its policy those that fit."""
    frozen: Literal["nothing", "backbone", "policy"] = later("nothing")
    """What is not trained: the backbone (layers, embedding, head) or the policy, for training in stages."""
    policy_rate: float = later(1.0)
    """Multiplies the learning rate of the policy's own weights."""
    precision: Literal["float32", "bfloat16", "float64"] | None = None
    """None: float32 on a CPU, bfloat16 on CUDA."""
    threads: int | None = None
    """CPU threads; None: as torch chooses. Part of the run, because sums depend on it in the last digit."""
    log_every: int = 50
    """Steps from one line of losses in metrics.jsonl to the next."""
    eval_every: int = 500
    """Steps from one evaluation during training to the next."""
    eval_count: int = 200
    """Instances per knob in the evaluations during training."""
    final_count: int = 1000
    """Instances per knob in the evaluation at the end."""
    checkpoint_every: int = 500
    """Steps from one checkpoint to the next; the last step always has one."""

    def __post_init__(self) -> None:
        self._check_ranges()
        if self.steps * self.batch_size > _LARGEST:
            raise UserError(f"steps x batch_size must be at most {_LARGEST}, not {self.steps} x {self.batch_size}")
        if self.max_offset >= self.max_length:
            raise UserError(f"max_offset {self.max_offset} must be less than max_length {self.max_length}")
        if self.batch_size % self.accumulation:
            raise UserError(f"batch_size {self.batch_size} must be a multiple of accumulation {self.accumulation}")
        for name, value in vars(self).items():
            check_finite(value, name)
        self._check_rates()
        if not 0 <= self.held_out < 1:
            raise UserError(f"held_out must lie in [0, 1), not {self.held_out}")

    def _check_rates(self) -> None:
        if self.learning_rate <= 0 or self.clip <= 0:
            raise UserError("learning_rate and clip must be positive")
        if self.policy_rate <= 0:
            raise UserError(f"policy_rate must be positive, not {self.policy_rate}: freeze the policy with frozen")
        if self.muon_rate < 0 or self.lora < 0:
            raise UserError(f"muon_rate and lora must not be negative, not {self.muon_rate} and {self.lora}")
        if not 0 < self.decay_share <= 1:
            raise UserError(f"decay_share must lie in (0, 1], not {self.decay_share}")
        if self.weight_decay < 0:
            raise UserError(f"weight_decay must not be negative, not {self.weight_decay}")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise UserError(f"betas must lie in [0, 1), not {self.betas}")

    def _check_ranges(self) -> None:
        for name, least in _LEAST.items():
            value, most = getattr(self, name), _MOST.get(name, _LARGEST)
            if value is not None and value < least:
                raise UserError(f"{name} must be at least {least}, not {value}")
            if value is not None and value > most:
                raise UserError(f"{name} must be at most {most}, not {value}")


@dataclass(frozen=True, kw_only=True)
class TrainConfig(TrainSettings):
    """A run, resolved: presets make one, overrides change it, `config.json` stores it."""

    preset: str
    variant: str
    """Policy and backbone as presets name them: anira-e, anira-o, fixed, unshared, or a policy's name."""
    task: str
    task_config: dict[str, Any] = field(default_factory=dict)
    """Options of the task."""
    model: dict[str, Any] = field(default_factory=dict)
    """Options of AniraConfig, the policy's among them; the vocabulary's size comes from the task."""
    compile: bool = False
    text: TextConfig | None = later(None)  # noqa: RUF009 (nothing that could be changed)
    """The text that the run reads in place of a task's rows; `task` is then "text", and `model` says everything."""

    def make_task(self) -> BlockTask:
        """Build the task."""
        if self.text is not None:
            raise UserError(f"{self.preset} is trained on text, which has no task: this works with runs on tasks only")
        task = make_task(self.task, self.task_config)
        task = HeldOutTask(task, self.held_out) if self.held_out else task
        return OffsetTask(task, self.max_offset) if self.max_offset else task

    def model_config(self) -> AniraConfig:
        """Build the model's configuration, whatever the run is trained on."""
        return self.make_model_config(self.make_task()) if self.text is None else AniraConfig(**self.model)

    def make_model_config(self, task: BlockTask) -> AniraConfig:
        """Build the model's configuration; the task gives the vocabulary."""
        special: dict[str, Any] = {
            name: task.vocab.id(f"<{token}>") for name, token in _SPECIAL.items() if f"<{token}>" in task.vocab
        }
        return AniraConfig(vocab_size=len(task.vocab), max_position_embeddings=self.max_length, **special, **self.model)

    def resolved(self) -> "TrainConfig":
        """Return the same run with every default of task and model written out."""
        if self.text is not None:
            shape = self.model_config()
            return from_dict(TrainConfig, {**to_dict(self), "model": {name: getattr(shape, name) for name in SHAPE}})
        task = self.make_task()
        config = self.make_model_config(task)
        model = {name: getattr(config, name) for name in MODEL_FIELDS}
        return from_dict(TrainConfig, {**to_dict(self), "task_config": to_dict(task.config), "model": model})


_SPECIAL = {"pad_token_id": "pad", "bos_token_id": "bos", "eos_token_id": "eos"}
MODEL_FIELDS = (
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_key_value_heads",
    "num_prelude_layers",
    "num_core_layers",
    "num_coda_layers",
    "max_depth",
    "shared_core",
    "freeze",
    "injection",
    "initial_state",
    "initial_state_std",
    "tie_word_embeddings",
    "initializer_range",
    "policy",
)
SHAPE = tuple(AniraConfig.__annotations__)
"""All that a model's configuration says: where no task is to give it a vocabulary, a run stores the whole."""


def variant_model(variant: str) -> dict[str, Any]:
    """Return the model options that a variant stands for.

    >>> variant_model("unshared")
    {'policy': {'name': 'fixed'}, 'shared_core': False}
    """
    if variant == "unshared":
        return {"policy": {"name": "fixed"}, "shared_core": False}
    policy_class(variant)  # a variant is otherwise a policy by its name; an unknown one is refused here
    return {"policy": {"name": variant}}
