"""What one of our models says about rows: one forward pass over the true answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.distributed.fsdp import FSDPModule
from torch.nn.functional import cross_entropy

from anira.models import AniraForCausalLM, AniraOutput
from anira.models.exits import at_least_float32
from anira.records.overrides import forced_depth, offered_depth
from anira.tasks import IGNORE, Rows

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How depth is chosen."""

    select: str | None = None
    threshold: float | None = None
    override: str = ""
    """What takes the place of the policy's choice (`anira.records.overrides`)."""

    @property
    def depth(self) -> int | None:
        """The depth that all tokens are forced to, if they are."""
        return forced_depth(self.override)

    def call(self) -> dict[str, Any]:
        """Return the arguments of a call by which the policy decides."""
        exits = "virtual" if self.override == "virtual" else None
        depth = offered_depth(self.override)
        return {"select": self.select, "threshold": self.threshold, "exits": exits, "max_depth": depth}


@dataclass(frozen=True)
class Prediction:
    """What the model said at each position of each row."""

    predicted: Array
    """The most likely next token."""
    exit_depth: Array
    executed: Array
    expected_depth: Array | None
    exit_probs: Array | None
    ran: Array | None = None
    """Who executed which iteration, for policies that skip some."""
    hides: bool = False
    """Whether those who did not run were invisible."""
    ce: Array | None = None
    """Minus the log probability, in nats, of what should be predicted: the label, or else the next token of the row."""
    change: Array | None = None
    """How much the last iteration changed the state, relative to its norm; known where all tokens are forced."""

    @staticmethod
    def concat(parts: Sequence["Prediction"]) -> "Prediction":
        """Join predictions of different widths, padding to the widest."""
        width = max(part.predicted.shape[1] for part in parts)

        def join(name: str) -> Array | None:
            values = [getattr(part, name) for part in parts]
            if not isinstance(values[0], np.ndarray):
                return values[0]  # type: ignore[no-any-return]
            pads = [[(0, 0), (0, width - value.shape[1]), (0, 0)][: value.ndim] for value in values]
            return np.concatenate([np.pad(value, pad) for value, pad in zip(values, pads, strict=True)])

        return Prediction(*(join(name) for name in Prediction.__dataclass_fields__))  # type: ignore[arg-type]


@torch.no_grad()
def predict(model: AniraForCausalLM, rows: Rows, settings: Settings) -> Prediction:
    """Run the model over rows that are padded on the right."""
    if settings.depth is not None:
        depths = torch.full((int(rows.lengths.sum()),), settings.depth, device=model.device)
        output = _read(model, rows, exit_depth=depths, output_iteration_states=True)
        assert output.iteration_states is not None
        return lay_out(output, rows, _change(*output.iteration_states[settings.depth - 1 : settings.depth + 1]))
    output = _read(model, rows, **settings.call())
    if settings.override == "permuted":
        assert output.exit_depth is not None
        shuffled = np.random.default_rng(0).permutation(output.exit_depth.cpu().numpy())
        output = _read(model, rows, exit_depth=torch.from_numpy(shuffled).to(model.device))
    return lay_out(output, rows)


@torch.no_grad()
def predict_stopped(model: AniraForCausalLM, rows: Rows, executed: Array) -> Array:
    """Return what the model says if no token runs more than 1, 2, ... iterations: (instances, time, iterations).

    `executed` has how many each token runs if it is let.
    """
    depths = np.arange(1, model.config.max_depth + 1)
    ran = np.minimum(executed[:, : rows.input_ids.shape[1]][_valid(rows)], depths[:, None])
    copies = rows.take(np.tile(np.arange(len(rows)), len(depths)))  # one call for all: rows do not see each other
    output = _read(model, copies, exit_depth=torch.from_numpy(ran.ravel()).to(model.device))
    predicted = lay_out(output, copies).predicted
    return np.moveaxis(predicted.reshape(len(depths), len(rows), -1), 0, -1)


def _read(model: AniraForCausalLM, rows: Rows, exit_depth: Tensor | None = None, **rule: Any) -> AniraOutput:
    """Return what the model gives for each token, as a flat list (tokens, ...) without padding."""
    ids, call = _packed(model, rows)
    return _flat(model(ids, exit_depth=None if exit_depth is None else exit_depth[None], **call, **rule))


def _packed(model: AniraForCausalLM, rows: Rows) -> tuple[Tensor, dict[str, Any]]:
    """Return rows end to end: where nothing is padded, no policy can take padding for tokens."""
    valid = torch.from_numpy(_valid(rows)).to(model.device)
    ids = torch.from_numpy(rows.input_ids.astype(np.int64)).to(model.device)
    lengths = torch.from_numpy(rows.lengths.astype(np.int64)).to(model.device)
    return ids[valid][None], {"lengths": lengths, "active": runs_active(model)}


def _flat(output: AniraOutput) -> AniraOutput:
    names = ("logits", "exit_depth", "executed", "exit_log_probs", "expected_depth", "ran")
    picked: dict[str, Any] = {name: output[name][0] for name in names if name in output}
    states = tuple(state[0] for state in output.iteration_states or ())
    return AniraOutput(**picked, hides=output.hides, iteration_states=states or None)


def runs_active(model: AniraForCausalLM) -> bool:
    """Say whether an evaluation computes only the tokens that still run.

    A model in parts over several processes runs the parallel graph instead. All of them must run the same number of
    iterations, however each one rounds.
    """
    return not isinstance(model, FSDPModule)


def _valid(rows: Rows) -> NDArray[np.bool_]:
    return np.arange(rows.input_ids.shape[1]) < rows.lengths[:, None]


def lay_out(output: AniraOutput, rows: Rows, change: Tensor | None = None) -> Prediction:
    """Lay what was said about each token out in rows, with 0 at padding."""
    valid = _valid(rows)

    def laid(values: Tensor) -> Array:
        flat = (values.float() if values.is_floating_point() else values).cpu().numpy()
        whole = np.zeros((*valid.shape, *flat.shape[1:]), dtype=flat.dtype)
        whole[valid] = flat
        return whole

    assert output.logits is not None and output.exit_depth is not None and output.executed is not None
    log_probs, expected = output.exit_log_probs, output.expected_depth
    following = np.pad(rows.targets[:, 1:], ((0, 0), (0, 1)))[valid]
    following[rows.lengths.cumsum() - 1] = IGNORE  # the last position predicts nothing: its cross-entropy is 0
    targets = torch.from_numpy(following.astype(np.int64)).to(output.logits.device)
    return Prediction(
        laid(output.logits.argmax(-1)),
        laid(output.exit_depth),
        laid(output.executed),
        None if expected is None else laid(expected),
        None if log_probs is None else laid(log_probs.exp()),
        None if output.ran is None else laid(output.ran),
        bool(output.hides),
        laid(cross_entropy(at_least_float32(output.logits), targets, ignore_index=IGNORE, reduction="none")),
        None if change is None else laid(change),
    )


def _change(before: Tensor, after: Tensor) -> Tensor:
    """Return how much an iteration changed each token's state, relative to the norm of what it became.

    >>> _change(torch.tensor([[3.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([0.8000])
    """
    before, after = at_least_float32(before), at_least_float32(after)
    change: Tensor = (after - before).norm(dim=-1) / after.norm(dim=-1).clamp(min=torch.finfo(after.dtype).tiny)
    return change
