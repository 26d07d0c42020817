"""Configurations and calls of the differential test, drawn from a seed.

A `Draw` is plain data, so that a failing one can be printed. `drawn_model` and the tensors follow from it alone.
"""

from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from tests.equivalence.naive_decisions import Ask
from tests.models_support import random_model
from torch import Tensor

from anira.models import AniraConfig, AniraForCausalLM

VOCAB = 11
Chunks = list[tuple[int, dict[str, int]]]
"""Calls against a cache: the columns of each, and its own max_depth or {}."""
RULES = ("mode", "median", "mean", "quantile")


@dataclass(frozen=True)
class Inference:
    """Calls without noise: settings (select, threshold, max_depth, exit_depth), and how the tokens go to a cache."""

    settings: dict[str, Any]
    chunks: Chunks


@dataclass(frozen=True, kw_only=True)
class Draw:
    """One configuration, and the calls that are made of it."""

    seed: int
    config: dict[str, Any]
    rows: list[list[int]]
    """Token ids, padding included."""
    valid: list[list[bool]]
    mask_name: str
    """How the parallel graph learns of padding: attention_mask, or (padded on the right) valid_mask."""
    position_step: int
    """Distance of neighbouring positions; 1 leaves them to the model."""
    labels: list[list[int]]
    sharpness: float
    """Scale of the decider's logits: rules differ where distributions are flat, and depths where they are not."""
    inferences: list[Inference]
    training: dict[str, Any]
    """max_depth, exit_depth of the calls with noise."""
    counts: dict[str, Any]
    """num_answer_tokens, num_valid_tokens, gamma_scale of the training call."""
    noise: list[list[list[float]]] | None

    @property
    def max_depth(self) -> int:
        return self.config["max_depth"]

    def ask(self, settings: dict[str, Any], row: int, column: int, *, sampled: bool = False) -> Ask:
        """Return how one token is to decide, for the naive implementation."""
        forced = settings.get("exit_depth")
        return Ask(
            max_depth=settings.get("max_depth", self.max_depth),
            select=settings.get("select"),
            threshold=settings.get("threshold"),
            noise=self.noise[row][column] if sampled and self.noise is not None else None,
            forced=forced[row][column] if isinstance(forced, list) else forced,
        )

    def call(self, settings: dict[str, Any], start: int = 0, stop: int | None = None) -> dict[str, Any]:
        """Return settings as the model takes them, depths cut to some columns."""
        depths = settings.get("exit_depth")
        cut = {"exit_depth": torch.tensor(depths)[:, start:stop]} if isinstance(depths, list) else {}
        return settings | cut

    def padding(self, start: int = 0, stop: int | None = None) -> dict[str, Tensor]:
        """Return what the model is told of padding and positions; with `stop`, in a call against a cache."""
        valid = torch.tensor(self.valid)
        told = {} if valid.all() else {self.mask_name if stop is None else "attention_mask": valid[:, :stop].long()}
        if self.position_step > 1:
            positions = (valid.long().cumsum(-1) - 1).clamp(min=0) * self.position_step
            told["position_ids"] = positions[:, start:stop]
        return told


def drawn(seed: int) -> Draw:
    rng = Random(seed)
    config = drawn_config(rng)
    batch, time = rng.randint(1, 3), rng.randint(3, 7)
    valid, mask_name = drawn_padding(rng, batch, time)
    # Each rule has its turn: under ANIRA-O only the mode rule has virtual exits, and only the mean rule looks ahead.
    rules = [RULES[seed % len(RULES)], rng.choice([None, None, *RULES])]
    rules = [None, None] if config["policy"]["name"] == "fixed" else rules
    settings = [drawn_settings(rng, config, rule, batch, time) for rule in rules]
    training = drawn_depths(rng, config, batch, time, forced=0.15)
    channels = {"anira-e": config["max_depth"], "anira-o": 1, "fixed": 0}[config["policy"]["name"]]
    sampled = channels > 0 and "exit_depth" not in training
    noise = [[[uniform(rng) for _ in range(channels)] for _ in range(time)] for _ in range(batch)]
    return Draw(
        seed=seed,
        config=config,
        rows=[[rng.randrange(VOCAB) for _ in range(time)] for _ in range(batch)],
        valid=valid,
        mask_name=mask_name,
        position_step=rng.choice([1, 1, 1, 2]),
        sharpness=rng.choice([0.2, 1.0]),
        inferences=[Inference(each, drawn_chunks(rng, config, each, time)) for each in settings],
        labels=drawn_labels(rng, valid),
        training=training,
        counts=drawn_counts(rng),
        noise=noise if sampled else None,
    )


def drawn_config(rng: Random) -> dict[str, Any]:
    heads = rng.choice([1, 2, 3, 4, 6])
    core_layers = rng.choice([1, 1, 1, 2, 3])
    policy = drawn_policy(rng)
    injection = rng.choice(["none", "none", "add", "concat-linear"])
    return {
        "vocab_size": VOCAB,
        "hidden_size": heads * rng.choice([size for size in (2, 4, 8) if 8 <= heads * size <= 32]),
        "intermediate_size": rng.choice([6, 16, 30]),
        "num_attention_heads": heads,
        "num_key_value_heads": rng.choice([number for number in range(1, heads + 1) if heads % number == 0]),
        "head_dim": rng.choice([None, None, 2, 8]),
        "num_prelude_layers": rng.choice([0, 1, 1, 2]),
        "num_core_layers": core_layers,
        "num_coda_layers": rng.choice([0, 1, 1, 2]),
        "max_depth": rng.choice([1, 2, 3, 4, 4, 5, 5, 6]),
        "shared_core": policy["name"] != "fixed" or rng.random() < 0.5,
        "freeze": rng.choice(["state", "kv", None]) if core_layers == 1 else rng.choice(["kv", None]),
        "injection": injection,
        "initial_state": "prelude" if injection == "none" else rng.choice(["prelude", "zero", "random"]),
        "initial_state_std": rng.choice([0.5, 1.0]),
        "policy": policy,
        "hidden_act": rng.choice(["silu", "silu", "relu"]),
        "rms_norm_eps": rng.choice([1e-6, 1e-2]),
        "rope_parameters": {"rope_type": "default", "rope_theta": rng.choice([100.0, 10000.0])},
        "attention_bias": rng.random() < 0.3,
        "mlp_bias": rng.random() < 0.3,
        "tie_word_embeddings": rng.random() < 0.3,
    }


def drawn_policy(rng: Random) -> dict[str, Any]:
    name = rng.choice(["anira-e", "anira-e", "anira-o", "anira-o", "fixed"])
    if name == "fixed":
        return {"name": name}
    own = {"temperature": rng.choice([0.5, 1.0, 2.0])} if name == "anira-e" else {"bias": rng.choice([-1.0, 0.0])}
    prior = {"gamma": rng.choice([0.1, 1.0]), "base": rng.choice([1.0, 1.25, 2.0])}
    gradient = {"detach": rng.random() < 0.3, "lookahead": rng.choice(["full", "full", "one"])}
    return {"name": name, **prior, **gradient, **own}


def drawn_padding(rng: Random, batch: int, time: int) -> tuple[list[list[bool]], str]:
    """Return which columns of each row are tokens: all, the last ones, the first ones, or (but for one row) any."""
    kind = rng.choice(["none", "left", "left", "right", "holes"])
    rows = []
    for _ in range(batch):
        tokens = time if kind == "none" else rng.randint(2, time)
        row = [True] * tokens + [False] * (time - tokens)
        if kind == "left":
            row.reverse()
        elif kind == "holes" and rows:
            rng.shuffle(row)
        rows.append(row)
    return rows, rng.choice(["attention_mask", "valid_mask"]) if kind == "right" else "attention_mask"


def drawn_settings(rng: Random, config: dict[str, Any], rule: str | None, batch: int, time: int) -> dict[str, Any]:
    settings = drawn_depths(rng, config, batch, time, forced=0.4 if rule is None else 0.0)
    if rule is None:
        return settings
    level = {"threshold": rng.choice([0.1, 0.3, 0.8, 1.0])} if rule == "quantile" else {}
    return {**settings, "select": rule, **level}


def drawn_depths(rng: Random, config: dict[str, Any], batch: int, time: int, forced: float) -> dict[str, Any]:
    """Return max_depth and exit_depth, or one of them, or none."""
    depths: dict[str, Any] = {}
    offer = rng.choice(["usual", "usual", "usual", "usual", "fewer", "more"])
    if offer == "fewer":
        depths["max_depth"] = rng.randint(1, config["max_depth"])
    elif offer == "more" and config["shared_core"] and config["policy"]["name"] != "anira-e":
        depths["max_depth"] = config["max_depth"] + rng.randint(1, 2)
    if config["shared_core"] and rng.random() < forced:
        most = depths.get("max_depth", config["max_depth"])
        each = [[rng.randint(1, most) for _ in range(time)] for _ in range(batch)]
        depths["exit_depth"] = rng.choice([each, rng.randint(1, most)])
    return depths


def drawn_chunks(rng: Random, config: dict[str, Any], settings: dict[str, Any], time: int) -> Chunks:
    """Return the calls of a cached run: all at once, one by one, or pieces; now and then with depths of their own."""
    cuts = rng.choice([[], list(range(1, time)), sorted(rng.sample(range(1, time), rng.randint(1, time - 1)))])
    sizes = [stop - start for start, stop in zip([0, *cuts], [*cuts, time], strict=True)]
    if settings.keys() & {"max_depth", "exit_depth"} or not config["shared_core"] or rng.random() < 0.6:
        return [(size, {}) for size in sizes]
    # Under freeze = "state", nothing is kept for a call that offers more iterations than the model and earlier calls.
    more = config["num_core_layers"] > 1 and config["policy"]["name"] != "anira-e"
    return [(size, {"max_depth": rng.randint(1, config["max_depth"] + 2 * more)}) for size in sizes]


def drawn_labels(rng: Random, valid: list[list[bool]]) -> list[list[int]]:
    """Return labels of some tokens that follow a token, or that nothing precedes; at least of one that follows one."""
    share = rng.choice([0.3, 0.7, 1.0])
    labels = [[-100] * len(row) for row in valid]
    for tokens, row in zip(valid, labels, strict=True):
        for column, token in enumerate(tokens):
            if token and (column == 0 or tokens[column - 1]) and rng.random() < share:
                row[column] = rng.randrange(VOCAB)
    labels[0][max(column for column, token in enumerate(valid[0]) if token)] = rng.randrange(VOCAB)
    return labels


def drawn_counts(rng: Random) -> dict[str, Any]:
    if rng.random() < 0.7:
        return {}
    return {"num_answer_tokens": rng.uniform(5, 30), "num_valid_tokens": rng.uniform(20, 40), "gamma_scale": 0.5}


def uniform(rng: Random) -> float:
    """Return a float32 number in the open interval (0, 1)."""
    return (rng.randrange(2**23) + 0.5) / 2**23


def drawn_model(draw: Draw) -> AniraForCausalLM:
    """Return a float64 model with random weights, norms and biases too."""
    model = random_model(AniraConfig(**draw.config), draw.seed)
    generator = torch.Generator().manual_seed(draw.seed)
    with torch.no_grad():
        if hasattr(model.policy, "decider"):
            model.policy.decider.out.weight *= draw.sharpness
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64), alpha=0.3)
    return model
