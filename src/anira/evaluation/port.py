"""What an evaluation asks of a model. Ours answer it, and every causal language model of transformers does, at depth 1.

    evaluate(LlamaForCausalLM.from_pretrained("mine"), task, EvaluationConfig(), subject, folder)

A model of another kind is evaluated through an object of your own with these five members.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from anira.config import UserError
from anira.evaluation.predict import Array, Prediction, Settings, lay_out, predict
from anira.evaluation.sessions import AniraSession, Session, StockSession
from anira.inference import row_costs
from anira.models import AniraForCausalLM, AniraOutput
from anira.models.policies.rules import ChosenRule
from anira.models.wrapped import policy_in_use
from anira.tasks import Rows

COSTS: Final = ("iterations", "decisions", "flops", "kv_slots")


@runtime_checkable
class DepthModel(Protocol):
    """A model whose tokens have a depth, as evaluations see it."""

    policy: str
    """What sets depth: a policy's name; "fixed" where nothing does."""
    max_depth: int
    """The most iterations that a token can get."""

    def rule(self, select: str | None, threshold: float | None) -> ChosenRule:
        """Return the rule and threshold to decide by; what means nothing to the model is a UserError."""

    def read(self, rows: Rows, settings: Settings) -> Prediction:
        """Run over rows that are padded on the right."""

    def costs(
        self, executed: Array, valid: Array, select: str, *, max_depth: int, ran: Array | None, hides: bool
    ) -> dict[str, Array]:
        """Return iterations, decisions, flops and kv_slots of each row, from the iterations its tokens executed."""

    def start(self, settings: Settings) -> Session:
        """Begin a batch that is written token by token."""


class AniraModel:
    """One of ours."""

    def __init__(self, model: AniraForCausalLM) -> None:
        self.model = model
        self.policy, self.max_depth = policy_in_use(model.policy).name, int(model.config.max_depth)

    def rule(self, select: str | None, threshold: float | None) -> ChosenRule:
        """Return the rule and threshold to decide by."""
        return policy_in_use(self.model.policy).rule(select, threshold)

    def read(self, rows: Rows, settings: Settings) -> Prediction:
        """Run over rows."""
        return predict(self.model, rows, settings)

    def costs(
        self, executed: Array, valid: Array, select: str, *, max_depth: int, ran: Array | None, hides: bool
    ) -> dict[str, Array]:
        """Count what each row has cost."""
        cost = row_costs(
            self.model.config,
            policy_in_use(self.model.policy).for_rule(select),
            torch.from_numpy(executed.astype(np.int64)),
            valid=torch.from_numpy(valid),
            max_depth=max_depth,
            ran=None if ran is None else torch.from_numpy(ran),
            hides=hides,
        )
        cost["flops"] = cost["core_flops"] + cost["decision_flops"] + cost["other_flops"]
        return {name: cost[name].numpy() for name in COSTS}

    def start(self, settings: Settings) -> Session:
        """Begin a batch."""
        return AniraSession(self.model, settings)


class StockModel:
    """Any causal language model of transformers: all its layers are one iteration."""

    policy, max_depth = "fixed", 1

    def __init__(self, model: Any) -> None:
        self.model = model

    def rule(self, select: str | None, threshold: float | None) -> ChosenRule:
        """Refuse every rule: there is nothing to choose."""
        if select is not None or threshold is not None:
            raise UserError(f"{type(self.model).__name__} has a fixed depth: leave out --select and --threshold")
        return ChosenRule("", None)

    def read(self, rows: Rows, settings: Settings) -> Prediction:
        """Run over rows; whatever is said about depth comes to the same."""
        ids = torch.from_numpy(rows.input_ids.astype(np.int64)).to(self.model.device)
        valid = torch.arange(ids.shape[1], device=ids.device) < torch.from_numpy(rows.lengths).to(ids.device)[:, None]
        known = self.model.get_input_embeddings().num_embeddings
        if int(ids[valid].max()) >= known:
            raise UserError(f"{type(self.model).__name__} has {known} tokens, and token {int(ids.max())} is read here")
        logits: Tensor = self.model(ids, attention_mask=valid.long()).logits[valid]
        one = torch.ones(len(logits), dtype=torch.long, device=ids.device)
        return lay_out(AniraOutput(logits=logits, exit_depth=one, executed=one), rows)

    def costs(
        self, executed: Array, valid: Array, select: str, *, max_depth: int, ran: Array | None, hides: bool
    ) -> dict[str, Array]:
        """Count a multiply-add per parameter and token; attention is left out, since layers differ in it."""
        tokens = valid.sum(axis=1, dtype=np.int64)
        return dict(zip(COSTS, (tokens, 0 * tokens, 2 * self.model.num_parameters() * tokens, tokens), strict=True))

    def start(self, settings: Settings) -> Session:
        """Begin a batch."""
        return StockSession(self.model)


def depth_model(model: Any) -> DepthModel:
    """Return a model as evaluations see it."""
    if isinstance(model, AniraForCausalLM):
        return AniraModel(model)
    if isinstance(model, PreTrainedModel):
        return StockModel(model)
    if isinstance(model, DepthModel):
        return model
    raise UserError(
        f"{type(model).__name__} cannot be evaluated: it is no causal language model of transformers, and has not all "
        "of policy, max_depth, rule, read, costs and start (anira.evaluation.DepthModel)"
    )


def check_depths(model: DepthModel, depth: int | None) -> None:
    """Refuse to force a depth that the model does not have."""
    if depth is not None and depth > model.max_depth:
        raise UserError(f"the model has at most depth {model.max_depth}: {depth} cannot be forced")


@contextmanager
def reading(model: Any) -> Iterator[DepthModel]:
    """Put a model into evaluation mode for a while, if it has one, and return it as evaluations see it."""
    module = model if isinstance(model, nn.Module) else nn.Module()
    training = module.training
    module.eval()
    try:
        yield depth_model(model)
    finally:
        module.train(training)
