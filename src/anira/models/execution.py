"""The two ways to run the core.

`run_parallel` unrolls all iterations on whole rows, a static graph: training and analysis. `run_active` computes only
the tokens that still run, against a store of keys and values: prefill, decode and evaluation. Both ask the same policy
in the same order, and give the same states; tests hold them equal in float64.
"""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from anira.config import UserError
from anira.models.attention import FirstKeyValues, FlatAttention, KeptKeyValues, row_starts
from anira.models.backbone import Backbone, Rope, project_key_values, run_layers
from anira.models.flat import Tokens
from anira.models.host import Flags, Numbers, looking_is_free, on_device
from anira.models.masks import restrict
from anira.models.packing import PackedAttention
from anira.models.policies.base import ComputePolicy, Context, Route
from anira.models.present import PresentStore
from anira.models.slots import SlotStore
from anira.models.static import StaticCall


@dataclass(frozen=True)
class CoreOutput:
    """What a run of the core leaves: the states to read out, the policy's state, and who executed how much."""

    h: Float[Tensor, "*tokens dim"]
    state: Any
    executed: Int[Tensor, "*tokens"]
    iteration_states: tuple[Float[Tensor, "*tokens dim"], ...] = ()
    ran: Bool[Tensor, "*tokens depth"] | None = None
    """Who executed which iteration, for policies that skip some; else the first ones are those executed."""
    hides: bool = False
    """Whether tokens that do not run an iteration are invisible in it."""


class Steering:
    """Who really runs an iteration: whom the policy wants, unless depths are forced or exits are virtual."""

    def __init__(self, policy: ComputePolicy, ctx: Context) -> None:
        self.skips, self.max_depth = policy.timing == "route", ctx.max_depth
        self.forced, self.virtual = ctx.forced_depth, ctx.exits == "virtual"
        self.counts = self.skips and self.forced is not None  # whether it must know who has executed how much

    def route(self, depth: int, wanted: Route, executed: Tensor | None, index: Tensor | None = None) -> Route:
        """Return the policy's answer, changed if need be; `index`: which tokens it is about, None for all."""
        if self.forced is not None:
            forced = self.forced if index is None else self.forced[index]
            if not self.skips:
                return wanted.with_run(forced >= depth)
            # As the policy likes, as long as the number comes out right in the end.
            assert executed is not None
            left = forced - executed
            return wanted.with_run((left > 0) & (wanted.run | (left > self.max_depth - depth)))
        return wanted.with_run(torch.ones_like(wanted.run)) if self.virtual else wanted

    def pick(self, picked: Tensor, h: Tensor, wanted: Route) -> Tensor:
        """Return what would be read out by now: under virtual exits the last state that the policy wanted."""
        return torch.where(wanted.run.unsqueeze(-1), h, picked) if self.virtual and self.forced is None else h


def run_parallel(
    backbone: Backbone,
    policy: ComputePolicy,
    h0: Float[Tensor, "batch time dim"],
    ctx: Context,
    mask: Bool[Tensor, "batch 1 time time"] | None,
    rope: Rope,
    keep_states: bool = False,
    laid: PackedAttention | StaticCall | None = None,
) -> CoreOutput:
    """Run all iterations on all tokens; the policy's weights freeze those that have halted."""
    kept: KeptKeyValues | None = None
    first: FirstKeyValues | None = None
    steering = Steering(policy, ctx)
    state = policy.begin(h0, ctx)
    h = picked = backbone.initial_state(h0, ctx.positions)
    executed = torch.zeros_like(ctx.positions)
    states, ran, hides = [h], [], False
    detached = policy.detached_iterations(ctx) if ctx.training else 0
    for depth in range(1, ctx.max_depth + 1):
        with torch.no_grad() if depth <= detached else nullcontext():
            wanted = policy.route(depth, h, state)
            route = steering.route(depth, wanted, executed)
            executed = executed + route.run
            see = _visible(route, executed, backbone.freeze, policy)
            square, plan = mask, None if laid is None else laid.iteration(depth, see)
            if see is not None and laid is None:
                square = restrict(mask, see)
            if backbone.freeze == "kv":
                kept = KeptKeyValues(route.run, route.weight, kept, plan)
            elif backbone.freeze == "first":
                first = FirstKeyValues(first, plan)
            layers, x = backbone.core_layers(depth), backbone.inject(h, h0)
            candidate = backbone.end_iteration(run_layers(layers, x, square, rope, plan=kept or first or plan))
            h = policy.update(depth, h, candidate, route, state)
            picked = steering.pick(picked, h, wanted)
        states.append(h)
        ran.append(route.run)
        hides = hides or route.see is not None
    skipped = torch.stack(ran, -1) if steering.skips else None
    return CoreOutput(picked, state, executed, tuple(states) if keep_states else (), skipped, hides)


def _visible(route: Route, executed: Tensor, freeze: str | None, policy: ComputePolicy) -> Tensor | None:
    """Return whose keys can be seen. Under freeze = "kv" a token that never ran has none."""
    _check_sharing(route, freeze)
    if freeze == "kv" and policy.timing == "route":
        return executed > 0 if route.see is None else route.see & (executed > 0)
    return route.see


def _check_sharing(route: Route, freeze: str | None) -> None:
    if freeze == "first" and route.see is not None:
        raise UserError("with freeze='first' every token is seen in every iteration, and this policy hides some")


@torch.no_grad()
def run_active(
    backbone: Backbone,
    policy: ComputePolicy,
    tokens: Tokens,
    ctx: Context,
    store: SlotStore | PresentStore,
    *,
    single: bool,
    keep_states: bool = False,
) -> CoreOutput:
    """Run each iteration on those tokens only that the policy wants to run; `single`: one token per row at most."""
    return _ActiveRun(backbone, policy, tokens, ctx, store, single, keep_states).run()


class Foresight:
    """Who runs which iteration, where the host can know it before the first: one look for the whole call, or none.

    Early policies decide in `begin`, so that `route` can be asked about every iteration at once. Online ones must be
    looked at before each but the first, which everyone runs. Where looking is free, nothing is asked ahead.
    """

    def __init__(self, policy: ComputePolicy, steering: Steering, h: Tensor, state: Any, ctx: Context) -> None:
        self._runs: Flags | None = None
        self._all_begin = policy.timing == "online"
        iterations = range(1, ctx.max_depth + 1)
        if steering.forced is not None:
            if not steering.skips:
                self._runs = np.arange(1, ctx.max_depth + 1)[:, None] <= steering.forced.cpu().numpy()
        elif steering.virtual or policy.timing == "none":
            self._runs = np.ones((ctx.max_depth, len(h)), dtype=bool)
        elif policy.timing == "early" and not looking_is_free(h):
            self._runs = torch.stack([policy.route(depth, h, state).run for depth in iterations]).cpu().numpy()

    def runs(self, depth: int, run: Bool[Tensor, " tokens"], which: Numbers | None) -> Flags:
        """Return who of some tokens runs an iteration; `run`: the answer, if it must be looked at."""
        if self._runs is None and depth == 1 and self._all_begin:
            return np.ones(len(run), dtype=bool)
        if self._runs is None:
            return np.asarray(run.cpu().numpy())
        known: Flags = self._runs[depth - 1]
        return known if which is None else np.asarray(known[which])


class _ActiveRun:
    """One call of `run_active`: the tokens of the call, and which of them are still in play."""

    def __init__(
        self,
        backbone: Backbone,
        policy: ComputePolicy,
        tokens: Tokens,
        ctx: Context,
        store: SlotStore | PresentStore,
        single: bool,
        keep_states: bool,
    ) -> None:
        self.backbone, self.policy, self.store, self.single = backbone, policy, store, single
        self.all = self.tokens = tokens
        self.max_depth, self.device = ctx.max_depth, tokens.h0.device
        self.steering = Steering(policy, ctx)
        self.hides = False  # whether halted tokens are invisible to the others
        self.state = policy.begin(tokens.h0, ctx)
        self.h = self.picked = backbone.initial_state(tokens.h0, ctx.positions)
        self.foresight = Foresight(policy, self.steering, self.h, self.state, ctx)
        self.executed = np.zeros(len(tokens.rows), dtype=np.int64)
        self.ran: list[Tensor] = []
        self.depth = 0  # iterations that anybody has run
        self.which: Numbers | None = None  # the tokens in play; None while that is all of them
        self.index: Tensor | None = None  # the same on the device
        self.attention: FlatAttention | None = None  # made anew whenever the set of running tokens changes
        # Tokens may run after an iteration that they did not run, or leave keys and values in every later layer.
        decides = policy.timing != "none" and not self.steering.virtual
        leaves = not backbone.shared_core and (decides or ctx.forced_depth is not None)
        # Whether the store holds keys and values of a token's present state. Exits are final except for timing "route".
        self.stored = np.zeros(len(tokens.rows), dtype=bool) if self.steering.skips or leaves else None
        if self.stored is not None:
            self.h = self.h.clone()  # written in place from the first iteration on, while h0 is still injected
        self.kept = [self.h.clone()] if keep_states else None
        # Exit states are read by later iterations. An unshared core at one depth for all has no exits, and a store that
        # overwrites keeps what the last iteration computed.
        self.state_frozen = backbone.freeze == "state" and (backbone.shared_core or leaves) and not store.overwrite

    def run(self) -> CoreOutput:
        """Iterate until nobody is left or the last iteration is done."""
        finished = len(self.all.rows) > 0 and all(self._keep(depth) for depth in range(1, self.max_depth + 1))
        if self.state_frozen and self.stored is None and not self.hides:
            if self.single:
                self._store_exit_states()
            elif finished and self.max_depth < self.store.max_depth:
                # A later call may go deeper than this one was allowed to, and then reads these exit states.
                self._store_states(self.max_depth + 1, self.tokens, self._present(self.h))
        ran = torch.stack(self.ran, -1) if self.steering.skips and self.ran else None
        h = self.picked if self.steering.virtual else self.h
        return CoreOutput(h, self.state, self._device(self.executed), self._iteration_states(), ran, self.hides)

    def _keep(self, depth: int) -> bool:
        """Run one iteration, and keep the states after it if they were asked for."""
        goes_on = self._iterate(depth)
        if self.kept is not None and goes_on:
            self.kept.append(self.h.clone())
        return goes_on

    def _iteration_states(self) -> tuple[Tensor, ...]:
        """Return the states after every iteration; where nobody ran any more, the last ones stand for the rest."""
        if self.kept is None:
            return ()
        return (*self.kept, *(self.kept[-1:] * (self.max_depth + 1 - len(self.kept))))

    def _store_exit_states(self) -> None:
        """Write the exit states of all tokens at once. With one token a row nobody reads them in this call."""
        early = np.flatnonzero(self.executed < self.store.max_depth)
        if not len(early):  # or nobody at all: a call of nothing but padding
            return
        depths = self.executed[early] + 1
        depth = int(depths[0]) if (depths == depths[0]).all() else depths
        if len(early) == len(self.executed):
            self._store_states(depth, self.all, self.h)
        else:
            self._store_states(depth, self.all.take(early), self.h[self._device(early)])

    def _device(self, numbers: Numbers) -> Tensor:
        return on_device(numbers, self.device)

    def _present(self, values: Tensor) -> Tensor:
        return values if self.index is None else values[self.index]

    def _iterate(self, depth: int) -> bool:
        """Run one iteration; return whether anybody ran or may still run."""
        h = self._present(self.h)
        state = self.state if self.index is None else self.state.take(self.index)
        wanted = self.policy.route(depth, h, state)
        route = self.steering.route(depth, wanted, self._executed() if self.steering.counts else None, self.index)
        run = self.foresight.runs(depth, route.run, self.which)
        if self.stored is not None:
            return self._iterate_routed(depth, h, state, route, run)
        if route.see is not None:
            _check_sharing(route, self.backbone.freeze)
            self.hides = True
        if not run.any():
            if self.state_frozen and not self.single and not self.hides and self.store.kept:
                self._store_states(depth, self.tokens, h)
            return False
        if not run.all():
            staying = self._retire(depth, h, run)
            h, state, route = h[staying], state.take(staying), route.take(staying)
        route = replace(route, whole=True)
        h = self.policy.update(depth, h, self._core(depth, self.tokens, h, onwards=not self.hides), route, state)
        self._write_back(self.which, self.index, h, state)
        if self.steering.virtual:  # everyone is here
            self.picked = self.steering.pick(self.picked, self.h, wanted)
        self.depth = depth
        return True

    def _executed(self) -> Int[Tensor, " tokens"]:
        """Return how many iterations the tokens in play have run."""
        return self._device(self.executed if self.which is None else self.executed[self.which])

    def _iterate_routed(self, depth: int, h: Tensor, state: Any, route: Route, run: Flags) -> bool:
        """The same where nobody ever leaves: tokens skip iterations, or have keys and values in every later layer."""
        assert self.stored is not None
        onwards = route.see is None
        self.hides = self.hides or not onwards
        if self.state_frozen and onwards:
            stale = np.flatnonzero(~run & ~self.stored if self.backbone.shared_core else ~run)
            if len(stale):
                self._store_states(depth, self.all.take(stale), h[self._device(stale)])
                self.stored[stale] = True
        self.ran.append(route.run)
        running = np.flatnonzero(run)
        if len(running):
            self.attention, index = None, self._device(running)
            part, route = state.take(index), replace(route.take(index), whole=True)
            candidate = self._core(depth, self.all.take(running), h[index], onwards=onwards)
            self._write_back(running, index, self.policy.update(depth, h[index], candidate, route, part), part)
            self.stored[running] = False
        return True

    def _retire(self, depth: int, h: Tensor, run: Flags) -> Int[Tensor, " staying"]:
        """Take the tokens that have halted out of play, and return which stay; exit states go to the store."""
        if self.state_frozen and not self.single and not self.hides:
            leaving = np.flatnonzero(~run)
            self._store_states(depth, self.tokens.take(leaving), h[self._device(leaving)])
        staying = np.flatnonzero(run)
        self.which = staying if self.which is None else self.which[staying]
        self.index = self._device(self.which)
        self.tokens = self.all.take(self.which)
        self.attention = None
        return self._device(staying)

    def _store_states(self, depth: int | Numbers, tokens: Tokens, h: Tensor) -> None:
        """Write keys and values of present states, from iteration `depth` on (freeze = "state" has one core layer).

        Layers that are not shared have keys and values of their own: those of iteration `depth` alone.
        """
        shared = self.backbone.shared_core
        (layer,) = self.backbone.core_layers(self.max_depth if shared or not isinstance(depth, int) else depth)
        keys, values = project_key_values(layer, self.backbone.inject(h, tokens.h0), tokens.rope)
        slots = self._allocate(depth, tokens, onwards=shared)
        self.store.put(0, self._device(slots), keys, values)

    def _core(self, depth: int, tokens: Tokens, h: Tensor, *, onwards: bool) -> Tensor:
        """Return the core's output for these tokens; their keys and values go to the store on the way.

        With freeze = "first" those of the first iteration are there already.
        """
        there = self.backbone.freeze == "first" and depth > 1
        slots = None if there else self._allocate(depth, tokens, onwards=onwards)
        if self.attention is None:
            starts = None if self.single else row_starts(tokens.rows)
            self.attention = FlatAttention(self.store, tokens.rows, tokens.columns, self.device, starts)
        self.attention.begin(depth, slots)
        x = self.backbone.inject(h, tokens.h0)[None]
        cos, sin = tokens.rope
        layers = self.backbone.core_layers(depth)
        out = run_layers(layers, x, None, (cos[None], sin[None]), plan=self.attention)[0]
        return self.backbone.end_iteration(out)

    def _allocate(self, depth: int | Numbers, tokens: Tokens, *, onwards: bool) -> Numbers:
        store: Any = self.store  # an array of depths is for the cache's store alone
        slots: Numbers = store.allocate(depth, tokens.rows, tokens.columns, onwards=onwards)
        return slots

    def _write_back(self, which: Numbers | None, index: Tensor | None, h: Tensor, state: Any) -> None:
        if which is None or index is None:
            self.h, self.state = h, state
            self.executed += 1
        else:
            self.h[index] = h
            self.executed[which] += 1
            self.state.put(index, state)
