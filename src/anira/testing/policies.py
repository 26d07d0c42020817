"""`check_policy`: does a policy keep the contract? Everything on small models in float64, in seconds.

    from anira.testing import check_policy
    print(check_policy(MyPolicy, {"threshold": 0.5}))

Each check returns what is wrong, in words that say what to change. docs/add-a-policy.md explains them.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor

from anira.config import UserError, nearest
from anira.inference import forward_cost
from anira.models import AniraForCausalLM
from anira.models.policies import ComputePolicy, Context, State, register_policy
from anira.models.policies.rules import ThresholdRange
from anira.testing.report import Report
from anira.testing.subjects import (
    BACKBONES,
    MAX_DEPTH,
    SHORTEST,
    VOCAB,
    Call,
    difference,
    left_padding,
    make_ids,
    make_model,
)
from anira.testing.training import TRAINING_CHECKS, compiles

SEEDS = (0, 1)
_COMPILES: Final = "compiles without a graph break"
ModelCheck = Callable[[AniraForCausalLM, int], str]


def check_policy(
    cls: type[ComputePolicy], options: Mapping[str, Any] | None = None, *, only: Collection[str] | None = None
) -> Report:
    """Check a policy with some options (its defaults if none are given); the report says what failed, and why.

    `only` names the checks to run, as reports name them: while one is being repaired, the others take time.
    """
    report = Report(f"policy {cls.name!r}")
    report.add("declares what it must", lambda: _declared(cls))
    if not report.ok:
        return report
    chosen = {"name": cls.name, **(options or {})}
    checks: dict[str, Callable[[], str]] = {
        name: partial(_everywhere, check, chosen) for name, check in {**_CHECKS, **TRAINING_CHECKS}.items()
    }
    checks[_COMPILES] = lambda: compiles(make_model(chosen, SHORTEST, 0))
    for name in checks if only is None else only:
        if name not in checks:
            raise UserError(f"there is no check {name!r}: {nearest(name, checks)}")
        report.add(name, checks[name])
    return report


def _declared(cls: type[ComputePolicy]) -> str:
    register_policy(cls)
    return ""


def _everywhere(check: ModelCheck, options: Mapping[str, Any]) -> str:
    """Run a check on every backbone and several seeds; return the first problem."""
    for backbone in BACKBONES:
        for seed in SEEDS:
            model = make_model(options, backbone, seed)
            problem = check(model, seed)
            if problem:
                return f"{problem} (model with {backbone or 'one core layer'}, seed {seed})"
    return ""


def _agree(call: Call) -> str:
    whole = call.parallel()
    for way, output in call.ways():
        problem = difference(whole, output, call.valid)
        if problem:
            return f"{way}: {problem}"
    return ""


def _executions(model: AniraForCausalLM, seed: int) -> str:
    return _agree(Call(model, make_ids(seed)))


def _padded(model: AniraForCausalLM, seed: int) -> str:
    call = Call(model, make_ids(seed), left_padding())
    whole = call.parallel()
    for row, valid in enumerate(call.valid):
        alone = Call(model, call.ids[row : row + 1, valid]).parallel()
        problem = difference(alone, whole.take(row, valid), torch.ones_like(alone.executed, dtype=torch.bool))
        if problem:
            return f"a row that is padded differs from the same row alone: {problem}"
    return _agree(call)


def _causal(model: AniraForCausalLM, seed: int) -> str:
    ids = make_ids(seed)
    earlier = torch.zeros_like(ids, dtype=torch.bool)
    earlier[:, :5] = True
    whole = Call(model, ids).parallel()
    for shift in range(1, VOCAB - 1, 3):  # a decision may happen to stay the same
        later = torch.where(earlier, ids, (ids + shift) % (VOCAB - 1) + 1)
        problem = difference(whole, Call(model, later).parallel(), earlier)
        if problem:
            return f"other tokens later on change earlier ones: {problem}"
    return ""


def _forced(model: AniraForCausalLM, seed: int) -> str:
    call = Call(model, make_ids(seed), left_padding())
    own = call.parallel()
    least = 0 if model.policy.timing == "route" else 1
    again = Call(model, call.ids, call.mask, forced=own.executed.clamp(min=least))
    problem = difference(own, again.parallel(), call.valid & (own.exit_depth == own.executed))
    if problem:
        return f"forcing a model's own depths changes it: {problem}; merge and read out by who really ran (route.run)"
    for depth in (1, MAX_DEPTH - 1, MAX_DEPTH):
        forced = Call(model, call.ids, call.mask, forced=torch.full_like(call.ids, depth))
        ran = forced.parallel().executed[call.valid]
        if not (ran == depth).all():
            return f"forced to depth {depth}, tokens ran {sorted(set(ran.tolist()))}"
        if problem := _agree(forced):
            return f"forced to depth {depth}, {problem}"
    return ""


def _virtual(model: AniraForCausalLM, seed: int) -> str:
    if model.policy.timing == "route":
        return ""  # it has no exits
    call = Call(model, make_ids(seed), settings={"exits": "virtual"})
    output = call.parallel()
    if not (output.executed == MAX_DEPTH).all():
        return "with virtual exits everyone runs all iterations: let route.run decide who runs"
    if model.policy.timing != "none" and (output.exit_depth > _wanted(model, call.ids)).any():
        return "with virtual exits exit_depth counts iterations that the policy did not want: count your own decisions"
    return _agree(call)


@torch.no_grad()
def _wanted(model: AniraForCausalLM, ids: Tensor) -> Tensor:
    """Return for how many iterations the policy says that a token runs, while everyone runs all of them."""
    counts, route = torch.zeros_like(ids), model.policy.route

    def counting(depth: int, h: Tensor, state: Any) -> Any:
        wanted = route(depth, h, state)
        counts.add_(wanted.run.long())
        return wanted

    model.policy.route = counting  # type: ignore[method-assign]
    try:
        model(ids, exits="virtual")
    finally:
        del model.policy.route
    return counts


def _slots(model: AniraForCausalLM, seed: int) -> str:
    call = Call(model, make_ids(seed))
    for way, output in call.ways():
        cost = forward_cost(model.config, model.policy, output.executed, ran=output.ran, hides=output.hides)
        if output.num_slots is not None and cost.kv_slots != output.num_slots:
            return f"{way}: the cache holds {output.num_slots} slots, and {cost.kv_slots} are counted"
    return ""


def _decision_cost(model: AniraForCausalLM, seed: int) -> str:
    """A policy with weights, or one that asks the head, cannot decide for nothing."""
    probes: list[int] = []
    head, ids = model.head_logits, make_ids(seed)

    def counting(h: Tensor) -> Tensor:
        probes.append(h[..., 0].numel())
        return head(h)

    model.head_logits = counting  # type: ignore[method-assign]
    try:
        output = Call(model, ids).parallel(active=True)
    finally:
        del model.head_logits
    cost = forward_cost(model.config, model.policy, output.executed, ran=output.ran, hides=output.hides)
    asked = sum(probes[:-1])  # the last one gives the answers
    least = 2 * model.config.hidden_size * model.config.vocab_size * asked
    if cost.decision_flops < least:
        return f"the head was asked {asked} times, which alone is {least} FLOPs; {cost.decision_flops} are declared"
    weights = sum(parameter.numel() for parameter in model.policy.parameters() if parameter.dim() > 1)
    if weights and model.policy.timing != "none" and not cost.decision_flops:
        return "the policy has weights, and says that deciding costs 0 FLOPs"
    return ""


def _rules(model: AniraForCausalLM, seed: int) -> str:
    ids = make_ids(seed)
    for name, bounds in model.policy.rules.items():
        settings = {"select": name, "threshold": _some_threshold(bounds)}
        if problem := _agree(Call(model, ids, settings=settings)):
            return f"rule {name!r}: {problem}"
        if bounds is not None and (problem := _direction(model, ids, name, bounds)):
            return problem
    return ""


def _direction(model: AniraForCausalLM, ids: Tensor, name: str, bounds: ThresholdRange) -> str:
    """Say so if thresholds that should let tokens run longer do the opposite."""
    low, high = max(bounds.low, -10.0), min(bounds.high, 10.0)
    tried = [low + (high - low) * share for share in (0.2, 0.8)]
    calls = [Call(model, ids, settings={"select": name, "threshold": threshold}) for threshold in tried]
    shallow, deep = (int(call.parallel().executed.sum()) for call in calls)
    if bounds.deeper == "low":
        shallow, deep = deep, shallow
    other = "low" if bounds.deeper == "high" else "high"
    said = f"rule {name!r}: {bounds.deeper} thresholds should be deeper, and are not"
    return f"{said}: declare ThresholdRange(..., deeper={other!r}) if they should not be" if deep < shallow else ""


def _some_threshold(bounds: ThresholdRange | None) -> float | None:
    if bounds is None:
        return None
    middle = (max(bounds.low, -10.0) + min(bounds.high, 10.0)) / 2
    return middle if bounds.default is None else bounds.default


def _other_depths(model: AniraForCausalLM, seed: int) -> str:
    offers = [1, 2, *([MAX_DEPTH + 2] if model.policy.beyond_max_depth and model.config.shared_core else [])]
    for offer in offers:
        call = Call(model, make_ids(seed), settings={"max_depth": offer})
        output = call.parallel()
        if int(output.executed.max()) > offer or int(output.exit_depth.max()) > offer:
            return f"with max_depth {offer} a token got {int(output.executed.max())}: use ctx.max_depth"
        if problem := _agree(call):
            return f"with max_depth {offer}, {problem}"
    return ""


def _state_shape(model: AniraForCausalLM, seed: int) -> str:
    """Tokens lead in every tensor of the state: the active-only execution takes some tokens out of it."""
    for shape in ((3, 5), (7,)):
        generator = torch.Generator().manual_seed(seed)
        h0 = torch.randn(*shape, model.config.hidden_size, dtype=torch.float64, generator=generator)
        positions = torch.arange(shape[-1]).expand(shape)
        rule = model.policy.rule()
        ctx = Context(
            valid=torch.ones(shape, dtype=torch.bool),
            positions=positions,
            rows=torch.zeros_like(positions),
            ids=torch.ones_like(positions),
            max_depth=MAX_DEPTH,
            select=rule.select,
            threshold=rule.threshold,
            head=model.head_logits,
        )
        with torch.no_grad():
            state = model.policy.begin(h0, ctx)
        if not isinstance(state, State):
            return f"begin must return a dataclass that derives from State, not {type(state).__name__}"
        for name, value in state._tensors():
            if tuple(value.shape[: len(shape)]) != shape:
                return f"the state's {name!r} has shape {tuple(value.shape)}: tokens {shape} must lead"
    return ""


def _random(model: AniraForCausalLM, seed: int) -> str:
    ids, outputs = make_ids(seed), []
    for number in (0, 1):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(number)
            before = torch.get_rng_state()
            outputs.append(Call(model, ids).parallel())
            if not torch.equal(before, torch.get_rng_state()):
                return "a random number was drawn from torch's generator: use ctx.noise or ctx.step_noise"
    problem = difference(outputs[0], outputs[1], torch.ones_like(ids, dtype=torch.bool))
    return f"two equal calls differ: {problem}; a policy keeps nothing between calls" if problem else ""


def _initialised(model: AniraForCausalLM, seed: int) -> str:
    """What __init__ sets to a constant must still be there when the model is made."""
    made = []
    for number in (seed, seed + 1):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(number)
            made.append(dict(type(model.policy)(model.config).named_parameters()))
    start = dict(AniraForCausalLM(model.config).policy.named_parameters())
    for name, value in made[0].items():
        if torch.equal(value, made[1][name]) and not torch.equal(value, start[name]):  # set, not drawn
            return f"{name} is set in __init__, and Hugging Face's start resets it: set it in init_weights"
    return ""


_CHECKS: dict[str, ModelCheck] = {
    "all executions agree": _executions,
    "padding changes nothing": _padded,
    "depends on earlier tokens only": _causal,
    "forced depths keep merging and readout": _forced,
    "virtual exits": _virtual,
    "slots counted are slots held": _slots,
    "deciding has its cost": _decision_cost,
    "every rule works": _rules,
    "other numbers of iterations": _other_depths,
    "tokens lead in the state": _state_shape,
    "nothing random, nothing kept between calls": _random,
    "weights start as __init__ sets them": _initialised,
}
