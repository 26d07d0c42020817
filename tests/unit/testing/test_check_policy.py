"""The conformance kit passes what is right, and names what is wrong: one planted defect for each trap."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import tests.equivalence.outside_policy  # noqa: F401 (registers two policies from outside)
import torch
from torch import Tensor, nn

from anira.config import UserError
from anira.models.policies import (
    Allocation,
    ComputePolicy,
    Context,
    Readout,
    Route,
    State,
    TaskLoss,
    ThresholdRange,
    passthrough,
    policy_class,
    registry,
)
from anira.testing import check_policy
from anira.testing import policies as kit


@pytest.fixture(autouse=True)
def _no_policies_for_others(monkeypatch):
    """Forget the policies that a test registers: later ones list all that are known."""
    monkeypatch.setattr(registry, "_policies", {**registry._policies})


@pytest.fixture(autouse=True)
def one_model(monkeypatch):
    """A defect shows in the first model; more of them only take time."""
    monkeypatch.setattr(kit, "SEEDS", (0,))
    monkeypatch.setattr(kit, "BACKBONES", kit.BACKBONES[:1])
    monkeypatch.setattr(kit, "compiles", lambda model: "")


@dataclass(frozen=True, kw_only=True)
class PlainOptions:
    """Nothing to choose."""


@dataclass
class PlainState(State):
    alive: Tensor
    exit_depth: Tensor
    max_depth: int
    training: bool = False


class Plain(ComputePolicy):
    """Halts by a linear gate after each iteration; all that is wrong with it is planted by subclasses."""

    name = "plain"
    Options = PlainOptions
    timing = "online"
    rules: ClassVar = {"gate": ThresholdRange(low=-5.0, high=5.0, default=0.0)}
    default_rule = "gate"
    beyond_max_depth = True

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.gate = nn.Linear(config.hidden_size, 1)
        self.threshold = 0.0

    def begin(self, h0: Tensor, ctx: Context) -> PlainState:
        self.threshold = ctx.threshold
        ones = torch.ones_like(ctx.positions)
        return PlainState(ones.bool(), torch.zeros_like(ones), ctx.max_depth, ctx.training)

    def route(self, depth: int, h: Tensor, state: PlainState) -> Route:
        return Route(state.alive)

    def update(self, depth: int, h: Tensor, candidate: Tensor, route: Route, state: PlainState) -> Tensor:
        h = passthrough(h, candidate, route)
        state.exit_depth = state.exit_depth + state.alive
        state.alive = state.alive & (self.gate(h)[..., 0] < self.threshold)
        return h

    def allocation(self, state: PlainState) -> Allocation:
        return Allocation(state.exit_depth)

    def decision_flops(self) -> int:
        return 2 * self.gate.in_features

    def num_decisions(self, executed: Tensor, max_depth: int) -> Tensor:
        return executed


@pytest.mark.parametrize("name", ["anira-e", "anira-o", "fixed", "similarity", "gates"])
def test_what_is_right_passes(name):
    report = check_policy(policy_class(name))
    assert report.ok, str(report)
    assert str(report).startswith(f"policy {name!r}: all 18 checks passed")


def test_the_plain_policy_is_right():
    report = check_policy(Plain)
    assert report.ok, str(report)


class PaddingCounts(Plain):
    """1: padding takes part in a mean over the row."""

    name = "padding-counts"

    def loss(self, state, task):
        return {"odd": state.exit_depth.double().mean() * task.mean_over_valid(torch.ones_like(task.ce[-1]))}


class OwnReadout(Plain):
    """2: what is read out depends on the policy's own choice, forced or not."""

    name = "own-readout"

    def readout(self, h, state):
        scaled = h * (1 + state.exit_depth.unsqueeze(-1))
        return Readout(scaled[None], torch.ones_like(h[None, ..., 0]))


class FreeDecisions(Plain):
    """3: it has weights, and says that deciding costs nothing."""

    name = "free-decisions"

    def decision_flops(self):
        return 0


class FreeProbes(Plain):
    """3 and 4: it asks the head after every iteration, and counts its gate alone."""

    name = "free-probes"

    def begin(self, h0, ctx):
        self.head = ctx.head
        return super().begin(h0, ctx)

    def update(self, depth, h, candidate, route, state):
        h = passthrough(h, candidate, route)
        state.exit_depth = state.exit_depth + state.alive
        state.alive = state.alive & (self.head(h).softmax(-1).amax(-1) < 0.5)
        return h


class AsksTheCoda(Plain):
    """4: it looks through the coda, which is not exact where there is one."""

    name = "asks-the-coda"

    def begin(self, h0, ctx):
        ctx.coda(h0)
        return super().begin(h0, ctx)


class OwnTargets(Plain):
    """5: it takes the targets of the batch for one number and weighs rows instead of tokens."""

    name = "own-targets"

    def loss(self, state, task):
        return {"odd": (task.targets != -100).double().mean(-1).sum()}


class ProductOfMeans(Plain):
    """6: a loss that is no sum over tokens."""

    name = "product-of-means"

    def loss(self, state, task: TaskLoss):
        share = self.gate.weight.new_ones(()) * state.exit_depth.double()
        return {"odd": task.mean_over_valid(share) ** 2}


class Counts(Plain):
    """7: it counts calls instead of taking its randomness from the step."""

    name = "counts-calls"
    calls = 0

    def begin(self, h0, ctx):
        type(self).calls += 1
        return super().begin(h0 + self.calls, ctx)

    def route(self, depth, h, state):
        return Route(state.alive & (depth <= 1 + self.calls % 3))


class WholeRow(Plain):
    """8: a rule for training is used everywhere, because it does not ask whether this is training."""

    name = "whole-row"

    def update(self, depth, h, candidate, route, state):
        h = passthrough(h, candidate, route)
        state.exit_depth = state.exit_depth + state.alive
        score = self.gate(h)[..., 0]
        state.alive = state.alive & (score < score.mean())
        return h


class NoDefaultRule(Plain):
    """9: its default is none of its rules."""

    name = "no-default-rule"
    default_rule = "other"


class CountsWhoRan(Plain):
    """10: it takes whoever ran for whom it wanted to run."""

    name = "counts-who-ran"

    def update(self, depth, h, candidate, route, state):
        before = state.exit_depth
        h = super().update(depth, h, candidate, route, state)
        state.exit_depth = before + route.run
        return h


class DrawsInTraining(Plain):
    """11: what it does in a stage of training depends on torch's generator."""

    name = "draws-in-training"

    def loss(self, state, task):
        return {"odd": torch.rand(()).double()}


class KnowsItsDepth(Plain):
    """12: it counts on the depth of its configuration, whatever is on offer."""

    name = "knows-its-depth"

    def allocation(self, state):
        return Allocation(torch.where(state.alive, 4, state.exit_depth))


class SetsItsBias(Plain):
    """13: a bias of its constructor, which Hugging Face resets."""

    name = "sets-its-bias"

    def __init__(self, config):
        super().__init__(config)
        nn.init.constant_(self.gate.bias, -3.0)


class ManyAnswers(Plain):
    """14: it reads out several states in training, and does not say which one is the answer."""

    name = "many-answers"

    def readout(self, h, state):
        if not state.training:
            return super().readout(h, state)
        return Readout(torch.stack([h, h]), torch.full((2, *h.shape[:-1]), 0.5, dtype=h.dtype))


class Rand(Plain):
    """15: torch.rand decides."""

    name = "rand"

    def update(self, depth, h, candidate, route, state):
        h = super().update(depth, h, candidate, route, state)
        state.alive = state.alive & (torch.rand(h.shape[:-1]) < 0.8)
        return h


class WrongShape(Plain):
    """Tokens do not lead in its state."""

    name = "wrong-shape"

    def begin(self, h0, ctx):
        state = super().begin(h0, ctx)
        state.exit_depth = torch.zeros(1, dtype=torch.long)
        return state


DEFECTS = {
    PaddingCounts: "padding does not count in training",
    OwnReadout: "forced depths keep merging and readout",
    FreeDecisions: "deciding has its cost",
    FreeProbes: "deciding has its cost",
    AsksTheCoda: "all executions agree",
    OwnTargets: "padding does not count in training",
    ProductOfMeans: "parts of a batch add up",
    Counts: "nothing random, nothing kept between calls",
    WholeRow: "depends on earlier tokens only",
    NoDefaultRule: "declares what it must",
    CountsWhoRan: "virtual exits",
    DrawsInTraining: "noise is given, not drawn",
    KnowsItsDepth: "other numbers of iterations",
    SetsItsBias: "weights start as __init__ sets them",
    ManyAnswers: "logged answers are those of the exit",
    Rand: "nothing random, nothing kept between calls",
    WrongShape: "tokens lead in the state",
}


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda cls: cls.name)
def test_a_planted_defect_is_found(defect):
    report = check_policy(defect, only=[DEFECTS[defect]] * (DEFECTS[defect] != "declares what it must"))
    assert DEFECTS[defect] in report.failed, str(report)
    with pytest.raises(UserError, match=f"policy '{defect.name}': "):
        report.require()


def test_a_policy_that_says_nothing_about_its_cost_is_refused():
    class Mute(ComputePolicy):
        name = "mute"
        timing = "online"

    report = check_policy(Mute)
    assert report.failed == ["declares what it must"]
    assert "does not say what deciding costs: define decision_flops and num_decisions" in str(report)


def test_only_some_checks_are_run_and_an_unknown_one_is_refused():
    report = check_policy(Plain, only=["virtual exits"])
    assert [check.name for check in report.checks] == ["declares what it must", "virtual exits"]
    with pytest.raises(UserError, match="there is no check 'virtual exit': did you mean 'virtual exits'"):
        check_policy(Plain, only=["virtual exit"])


@pytest.mark.slow
def test_a_graph_break_is_found(monkeypatch):
    monkeypatch.undo()
    compiles = ["compiles without a graph break"]

    class Looks(Plain):
        name = "looks"

        def update(self, depth, h, candidate, route, state):
            if float(h.detach().sum()) > 0:
                h = h + 0
            return super().update(depth, h, candidate, route, state)

    report = check_policy(Looks, only=compiles)
    assert report.failed == compiles, str(report)
    assert check_policy(policy_class("anira-o"), only=compiles).ok
