"""Each criterion on planted trajectories against a few lines of its own, and in both executions."""

import math
from typing import Any

import pytest
import torch
from tests.models_support import assert_same
from tests.unit.models.policies.criteria_support import (
    assert_all_ways_agree,
    assert_own_depths_forced_change_nothing,
    case_of,
    config_of,
)
from torch import Tensor

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.policies import Context, Route
from anira.models.policies.criteria import CRITERIA

DEPTH, WIDTH, TOKENS = 6, 4, 200


def planted() -> Tensor:
    """Return (depth + 1, tokens, width) states that settle at various rates, some of them in circles."""
    generator = torch.Generator().manual_seed(0)
    start, end = torch.randn(2, TOKENS, WIDTH, generator=generator, dtype=torch.float64)
    rate = torch.rand(TOKENS, 1, generator=generator, dtype=torch.float64)
    turn = torch.where(torch.arange(TOKENS)[:, None] % 3 == 0, -1.0, 1.0)
    return torch.stack([3 * end + (turn * rate) ** d * start for d in range(DEPTH + 1)])


def exit_depths(rule: str, threshold: float, states: Tensor, head: Any) -> list[int]:
    """Run the policy on given states, as if the core had computed them."""
    policy = AniraForCausalLM(config_of("huginn", vocab_size=WIDTH, max_depth=DEPTH)).policy
    positions = torch.arange(TOKENS)
    ctx = Context(
        valid=torch.ones(TOKENS, dtype=torch.bool),
        positions=positions,
        rows=positions,
        max_depth=DEPTH,
        select=rule,
        threshold=threshold,
        head=head,
    )
    state = policy.begin(states[0], ctx)
    h = states[0]
    for depth in range(1, DEPTH + 1):
        run = policy.route(depth, h, state).run
        h = policy.update(depth, h, states[depth], Route(run), state)
    return policy.allocation(state).exit_depth.tolist()


def probs(x: list[float]) -> list[float]:
    terms = [math.exp(value) for value in x]
    return [term / sum(terms) for term in terms]


def min_p(p: list[float]) -> list[float]:
    kept = [value if value >= 0.1 * max(p) else 1 / len(p) for value in p]
    return [value / sum(kept) for value in kept]


def kl(p: list[float], q: list[float]) -> float:
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


def entropy(p: list[float]) -> float:
    return -sum(a * math.log(a) for a in p)


def length(x: list[float]) -> float:
    return math.sqrt(sum(value**2 for value in x))


def minus(x: list[float], y: list[float]) -> list[float]:
    return [a - b for a, b in zip(x, y, strict=True)]


def one_minus_cosine(x: list[float], y: list[float]) -> float:
    return 1 - sum(a * b for a, b in zip(x, y, strict=True)) / (length(x) * length(y))


def met(rule: str, h: list[list[float]], d: int, t: float) -> bool:
    """Say whether a rule lets a token out after iteration d of the trajectory h, from its definition."""
    if rule == "second-order":
        bends = [length(minus(minus(h[e], h[e - 1]), minus(h[e - 1], h[e - 2]))) for e in (d - 1, d) if e >= 2]
        return len(bends) == 2 and bends[0] / length(h[d - 1]) < t and bends[1] / length(h[d]) < t
    if rule in ("latent", "cosine", "fixed-point"):
        change = length(minus(h[d], h[d - 1]))
        values = {"latent": change / length(h[d]), "fixed-point": change / math.sqrt(WIDTH)}
        return (one_minus_cosine(h[d], h[d - 1]) if rule == "cosine" else values[rule]) < t
    if rule == "argmax":
        likeliest = [x.index(max(x)) for x in h[1 : d + 1]][-int(t) - 1 :]
        return len(likeliest) == t + 1 and len(set(likeliest)) == 1
    if d == 1:
        return False
    old, new = probs(h[d - 1]), probs(h[d])
    values = {"kl": kl(old, new), "minp": kl(min_p(old), min_p(new)), "entropy": abs(entropy(old) - entropy(new))}
    return values[rule] < t


THRESHOLDS = {
    "latent": 0.1,
    "fixed-point": 0.2,
    "cosine": 0.002,
    "second-order": 0.1,
    "kl": 0.01,
    "minp": 0.01,
    "entropy": 0.05,
    "argmax": 2,
}


@pytest.mark.parametrize("rule", CRITERIA)
def test_each_rule_halts_where_its_definition_says(rule: str) -> None:
    states, t = planted(), THRESHOLDS[rule]
    found = exit_depths(rule, t, states, lambda h: h)  # the head is the identity: states are logits
    for token, depth in enumerate(found):
        h = states[:, token].tolist()
        assert depth == next((d for d in range(1, DEPTH) if met(rule, h, d, t)), DEPTH)
    assert len(set(found)) >= 3


def test_without_a_rule_everyone_runs_on() -> None:
    assert set(exit_depths("none", 0.0, planted(), lambda h: h)) == {DEPTH}


def test_defaults_are_the_papers() -> None:
    wanted = {"kl": 5e-4, "latent": 0.03, "entropy": 1e-3, "argmax": 5, "minp": 1e-6, "cosine": 1e-3}
    assert {name: CRITERIA[name].bounds.default for name in wanted} == wanted


# On random models, where states change more: what spreads the depths of five iterations.
SPREADING = {
    "latent": 0.4,
    "fixed-point": 2.5,
    "cosine": 0.08,
    "second-order": 0.3,
    "kl": 0.05,
    "minp": 0.03,
    "entropy": 0.1,
    "argmax": 2,
}
UNSHARED = {"num_coda_layers": 0, "shared_core": False}
# What a rule remembers is of another width in each of these.
KV = {"num_core_layers": 2}
ELSEWHERE = [(rule, KV) for rule in ("second-order", "kl")]
ELSEWHERE += [(rule, UNSHARED) for rule in ("latent", "second-order", "kl", "argmax")]
CASES = [*((rule, {}) for rule in CRITERIA), *ELSEWHERE]


@pytest.mark.parametrize(("rule", "backbone"), CASES)
def test_both_executions_halt_alike(rule: str, backbone: dict[str, Any]) -> None:
    threshold = 1.2 if rule == "second-order" and backbone is UNSHARED else SPREADING[rule]
    case = case_of("huginn", padded=True, settings={"select": rule, "threshold": threshold}, **backbone)
    assert_all_ways_agree(case, rows_alone=not backbone)
    assert_own_depths_forced_change_nothing(case)


@pytest.mark.parametrize("rule", ["second-order", "kl"])
def test_virtual_exits_are_picked_alike(rule: str) -> None:
    settings = {"select": rule, "threshold": SPREADING[rule], "exits": "virtual"}
    case = case_of("huginn", settings=settings)
    whole = case.parallel()
    assert (whole.executed == 5).all()
    assert_same(whole, case.one_by_one())
    assert_same(whole, case.parallel(active=True))


@pytest.mark.parametrize(("rule", "threshold"), [("latent", 0.15), ("kl", 0.005)])
def test_more_iterations_than_in_training(rule: str, threshold: float) -> None:
    case = case_of("huginn", settings={"select": rule, "threshold": threshold, "max_depth": 9})
    assert int(assert_all_ways_agree(case).exit_depth.max()) > 5


def test_any_trained_backbone_can_have_a_criterion() -> None:
    trained = case_of("anira-o").model
    weights = {name: value for name, value in trained.state_dict().items() if not name.startswith("policy.")}
    model = AniraForCausalLM(config_of("huginn")).double().eval()
    model.load_state_dict(weights)  # strict: nothing is missing and nothing is left
    ids = torch.arange(1, 13)[None]
    forced = trained(ids, exit_depth=5).logits
    assert torch.equal(model(ids, select="none").logits, forced)


def test_rules_are_priced_one_by_one() -> None:
    policy = AniraForCausalLM(config_of("huginn")).policy
    executed = torch.tensor([1, 3, 5])
    costs = {rule: policy.for_rule(rule).decision_cost(executed, 5).tolist() for rule in policy.rules}
    probe = 2 * 16 * 20  # twice hidden_size * vocab_size
    assert costs["kl"] == costs["argmax"] == [probe, 3 * probe, 4 * probe]
    assert costs["latent"] == [64, 192, 256] and costs["none"] == [0, 0, 0]
    assert policy.decision_flops() == 64  # the default rule's


def test_a_rule_looks_as_often_as_it_is_priced() -> None:
    case = case_of("huginn", settings={"select": "kl", "threshold": 0.05})
    asked: list[int] = []
    head = case.model.head_logits
    case.model.head_logits = lambda h: (asked.append(h[..., 0].numel()), head(h))[1]
    out = case.parallel(active=True)
    assert sum(asked[:-1]) == int(case.model.policy.for_rule("kl").num_decisions(out.executed, 5).sum())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"select": "kl", "threshold": -1.0}, r"must lie in \[0"),
        ({"select": "none", "threshold": 0.1}, "takes no threshold"),
        ({"select": "mode"}, "has no rule 'mode'"),
        ({"select": "argmax", "threshold": 0.5}, r"must lie in \[1"),
    ],
)
def test_nonsense_is_refused(settings: dict[str, Any], message: str) -> None:
    model = AniraForCausalLM(config_of("huginn")).eval()
    with pytest.raises(UserError, match=message):
        model(torch.ones(1, 3, dtype=torch.long), **settings)
