"""Checks of a policy in training: parts of a batch add up, padding does not count, noise decides, graphs compile."""

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor

from anira.models import AniraForCausalLM, AniraOutput
from anira.testing.subjects import BATCH, TIME, TOLERANCE, make_ids, make_noise

LENGTHS: Final = (TIME, TIME - 2, TIME - 4)


class _Step:
    """One training step on rows of different lengths, as a whole or in parts."""

    def __init__(self, model: AniraForCausalLM, seed: int) -> None:
        self.model = model.train()
        self.ids = make_ids(seed)
        self.valid = torch.arange(TIME) < torch.tensor(LENGTHS)[:, None]
        self.labels = torch.where(self.valid & (torch.arange(TIME) % 2 == 0), self.ids, -100)
        self.given = make_noise(model, self.ids)
        answers = (self.labels[:, 1:] != -100).sum()
        self.counts = {"num_answer_tokens": answers, "num_valid_tokens": self.valid.sum()}

    def padded(self, rows: slice = slice(None), **extra: Any) -> AniraOutput:
        """Return the output for some rows, padded on the right."""
        output: AniraOutput = self.model(
            self.ids[rows],
            labels=self.labels[rows],
            valid_mask=self.valid[rows],
            **self._noise(lambda noise: noise[rows]),
            **self.counts,
            **extra,
        )
        return output

    def packed(self) -> AniraOutput:
        """Return the output for the rows laid end to end, as training calls the model."""
        valid = self.valid
        labels = torch.where(torch.arange(TIME) == 0, -100, self.labels)
        answers = (torch.roll(labels[valid], -1) != -100).nonzero()[:, 0]
        output: AniraOutput = self.model(
            self.ids[valid][None],
            labels=labels[valid][None],
            lengths=torch.tensor(LENGTHS),
            logits_to_keep=answers,
            **self._noise(lambda noise: noise[valid][None]),
            **self.counts,
        )
        return output

    def _noise(self, cut: Callable[[Tensor], Tensor]) -> dict[str, Any]:
        return {name: cut(value) if name == "noise" else value for name, value in self.given.items()}


def _gap(one: dict[str, Tensor], other: dict[str, Tensor]) -> str:
    for name, value in one.items():
        ours, theirs = float(value.detach()), float(other[name].detach())
        if abs(ours - theirs) > TOLERANCE * max(1.0, abs(ours)):
            return f"{name!r} is {ours:.6g} against {theirs:.6g}"
    return ""


def _parts_add_up(model: AniraForCausalLM, seed: int) -> str:
    step = _Step(model, seed)
    whole = step.padded()
    assert whole.losses is not None
    parts = [slice(0, 1), slice(1, BATCH)]
    means = None
    if model.policy.uses_global_means:
        sums = [step.padded(rows).mean_sums or {} for rows in parts]
        count = step.counts["num_valid_tokens"]
        means = {name: sum(part[name] for part in sums) / count for name in sums[0]}
    outputs = [step.padded(rows, global_means=means) for rows in parts]
    total = {name: sum((output.losses or {})[name] for output in outputs) for name in whole.losses}
    problem = _gap(whole.losses, total)  # type: ignore[arg-type]
    hint = "divide by the counts of the global batch (task.mean_over_valid, task.mean_over_answers, task.global_mean)"
    return f"the loss of a batch is not the sum of its parts: {problem}; {hint}" if problem else ""


def _padding_does_not_count(model: AniraForCausalLM, seed: int) -> str:
    step = _Step(model, seed)
    one, other = step.padded(), step.packed()
    assert one.losses is not None and other.losses is not None
    problem = _gap(one.losses, other.losses)
    return (
        f"rows with padding and rows laid end to end differ: {problem}; look at ctx.valid and ctx.rows"
        if problem
        else ""
    )


def _noise_decides(model: AniraForCausalLM, seed: int) -> str:
    step, losses = _Step(model, seed), []
    for number in (0, 1):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(number)
            before = torch.get_rng_state()
            losses.append(step.padded().losses or {})
            if not torch.equal(before, torch.get_rng_state()):
                return "training draws from torch's generator: use ctx.noise or ctx.step_noise"
    problem = _gap(*losses)
    return f"two equal training calls differ: {problem}" if problem else ""


def _answers_are_those_of_the_exit(model: AniraForCausalLM, seed: int) -> str:
    """With several states read out, the logits that are returned must be those of the chosen one."""
    step, readout, chosen = _Step(model, seed), model.policy.readout, []

    def noting(h: Tensor, state: Any) -> Any:
        found = readout(h, state)
        chosen.append((len(found.states), found.chosen))
        return found

    model.policy.readout = noting  # type: ignore[method-assign]
    try:
        step.padded()
    finally:
        del model.policy.readout
    several, which = chosen[-1]
    if several > 1 and which is None and model.policy.timing != "none":
        return f"training reads out {several} states and does not say which is the answer: set Readout.chosen"
    return ""


def compiles(model: AniraForCausalLM) -> str:
    """Say where torch.compile would break the training graph, or what it computes otherwise."""
    step = _Step(model, 0)
    plain = step.padded().losses or {}
    torch._dynamo.reset()
    step.model = torch.compile(model, fullgraph=True, backend="eager")
    try:
        compiled = step.padded().losses or {}
    except torch._dynamo.exc.Unsupported as error:
        return f"torch.compile breaks the training graph: {' '.join(str(error).split())[:200]}"
    problem = _gap(plain, compiled)
    return f"a compiled step differs from a plain one: {problem}" if problem else ""


TRAINING_CHECKS: Final[dict[str, Callable[[AniraForCausalLM, int], str]]] = {
    "parts of a batch add up": _parts_add_up,
    "padding does not count in training": _padding_does_not_count,
    "noise is given, not drawn": _noise_decides,
    "logged answers are those of the exit": _answers_are_those_of_the_exit,
}
