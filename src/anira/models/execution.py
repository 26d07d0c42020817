"""The two ways to run the core.

`run_parallel` unrolls all iterations on whole rows, a static graph: training and analysis. `run_active` computes only
the tokens that still run, against a store of keys and values: prefill, decode and evaluation. Both ask the same policy
in the same order, and give the same states; tests hold them equal in float64.
"""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from anira.config import UserError
from anira.models.attention import FirstKeyValues, FlatAttention, KeptKeyValues
from anira.models.backbone import Backbone, Rope, project_key_values, run_layers
from anira.models.cache import SlotStore
from anira.models.masks import restrict
from anira.models.packing import PackedAttention
from anira.models.policies.base import ComputePolicy, Context, Route
from anira.models.present import PresentStore


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

    def route(self, depth: int, wanted: Route, executed: Tensor, index: Tensor | None = None) -> Route:
        """Return the policy's answer, changed if need be; `index`: which tokens it is about, None for all."""
        if self.forced is not None:
            forced = self.forced if index is None else self.forced[index]
            if not self.skips:
                return wanted.with_run(forced >= depth)
            # As the policy likes, as long as the number comes out right in the end.
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
    packed: PackedAttention | None = None,
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
            square, plan = mask, packed
            if see is not None and packed is not None:
                plan = packed.hiding(see)
            elif see is not None:
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


class FlatList:
    """The tokens of a call that are not padding, as a flat list ordered by row and column, and back into rows."""

    def __init__(self, valid: Bool[Tensor, "batch time"], *, whole: bool) -> None:
        self.valid, self.whole = valid, whole  # without padding, packing and spreading are views

    def places(self, past: int) -> tuple[Int[Tensor, " tokens"], Int[Tensor, " tokens"]]:
        """Return row and column of every token; columns of this call follow `past` earlier ones."""
        batch, time = self.valid.shape
        if not self.whole:
            rows, columns = self.valid.nonzero(as_tuple=True)
            return rows, columns + past
        rows = torch.arange(batch, device=self.valid.device)
        if time == 1:
            return rows, torch.full_like(rows, past)
        columns = torch.arange(past, past + time, device=self.valid.device)
        return rows.repeat_interleave(time), columns.repeat(batch)

    def pack(self, values: Tensor) -> Tensor:
        """Return (tokens, ...) from (batch, time, ...)."""
        values = values.expand(*self.valid.shape, *values.shape[2:])
        return values.flatten(0, 1) if self.whole else values[self.valid]

    def spread(self, values: Tensor, into: Tensor | None = None) -> Tensor:
        """Return (batch, time, ...) from (tokens, ...); padding gets the values of `into`, or 0."""
        if self.whole:
            return values.view(*self.valid.shape, *values.shape[1:])
        rows = values.new_zeros((*self.valid.shape, *values.shape[1:])) if into is None else into.clone()
        rows[self.valid] = values
        return rows


@dataclass(frozen=True)
class Tokens:
    """A flat list of tokens, ordered by row and column, with their rotary phases and their prelude's output."""

    rows: Int[Tensor, " tokens"]
    columns: Int[Tensor, " tokens"]
    rope: Rope
    h0: Float[Tensor, "tokens dim"]

    def take(self, index: Tensor) -> "Tokens":
        """Return some of the tokens."""
        cos, sin = self.rope
        return Tokens(self.rows[index], self.columns[index], (cos[index], sin[index]), self.h0[index])


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
        self.max_depth = ctx.max_depth
        self.steering = Steering(policy, ctx)
        self.hides = False  # whether halted tokens are invisible to the others
        store.skips = store.skips or self.steering.skips
        self.state = policy.begin(tokens.h0, ctx)
        self.h = self.picked = backbone.initial_state(tokens.h0, ctx.positions)
        self.executed = torch.zeros_like(tokens.rows)
        self.ran: list[Tensor] = []
        self.depth = 0  # iterations that anybody has run
        self.index: Tensor | None = None  # the tokens in play; None while that is all of them
        self.attention: FlatAttention | None = None  # made anew whenever the set of running tokens changes
        # Tokens may run after an iteration that they did not run, or leave keys and values in every later layer.
        decides = policy.timing != "none" and not self.steering.virtual
        leaves = not backbone.shared_core and (decides or ctx.forced_depth is not None)
        # Whether the store holds keys and values of a token's present state. Exits are final except for timing "route".
        self.stored = torch.zeros_like(tokens.rows, dtype=torch.bool) if self.steering.skips or leaves else None
        if self.stored is not None:
            self.h = self.h.clone()  # written in place from the first iteration on, while h0 is still injected
        self.kept = [self.h.clone()] if keep_states else None
        # Exit states are read by later iterations. An unshared core at one depth for all has no exits.
        self.state_frozen = backbone.freeze == "state" and (backbone.shared_core or leaves)

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
        return CoreOutput(h, self.state, self.executed, self._iteration_states(), ran, self.hides)

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
        if self.depth and self.index is None:  # all have run the same iterations: nothing to look up
            if self.depth < self.store.max_depth:
                self._store_states(self.depth + 1, self.all, self.h)
            return
        early = (self.executed < self.store.max_depth).nonzero()[:, 0]
        if len(early):
            if len(early) == len(self.executed):
                self._store_states(self.executed + 1, self.all, self.h)
            else:
                self._store_states(self.executed[early] + 1, self.all.take(early), self.h[early])

    def _present(self, values: Tensor) -> Tensor:
        return values if self.index is None else values[self.index]

    def _iterate(self, depth: int) -> bool:
        """Run one iteration; return whether anybody ran or may still run."""
        h = self._present(self.h)
        state = self.state if self.index is None else self.state.take(self.index)
        wanted = self.policy.route(depth, h, state)
        executed = self._present(self.executed) if self.steering.skips else self.executed
        route = self.steering.route(depth, wanted, executed, self.index)
        if self.stored is not None:
            return self._iterate_routed(depth, h, state, route)
        if route.see is not None:
            _check_sharing(route, self.backbone.freeze)
            self.hides = self.store.skips = True
        running = int(route.run.sum())
        if running == 0:
            if self.state_frozen and not self.single and not self.hides and self.store.kept:
                self._store_states(depth, self.tokens, h)
            return False
        if running < len(h):
            staying = self._retire(depth, h, route.run)
            h, state, route = h[staying], state.take(staying), route.take(staying)
        route = replace(route, whole=True)
        h = self.policy.update(depth, h, self._core(depth, self.tokens, h, onwards=not self.hides), route, state)
        self._write_back(self.index, h, state)
        if self.steering.virtual:  # everyone is here
            self.picked = self.steering.pick(self.picked, self.h, wanted)
        self.depth = depth
        return True

    def _iterate_routed(self, depth: int, h: Tensor, state: Any, route: Route) -> bool:
        """The same where nobody ever leaves: tokens skip iterations, or have keys and values in every later layer."""
        assert self.stored is not None
        onwards = route.see is None
        if not onwards:
            self.hides = self.store.skips = True
        shared = self.backbone.shared_core
        if self.state_frozen and onwards:
            stale = (~route.run if not shared else ~route.run & ~self.stored).nonzero()[:, 0]
            if len(stale):
                self._store_states(depth, self.all.take(stale), h[stale])
                self.stored[stale] = True
        running = route.run.nonzero()[:, 0]
        self.ran.append(route.run)
        if len(running):
            self.attention = None
            part, route = state.take(running), replace(route.take(running), whole=True)
            candidate = self._core(depth, self.all.take(running), h[running], onwards=onwards)
            self._write_back(running, self.policy.update(depth, h[running], candidate, route, part), part)
            self.stored[running] = False
        return True

    def _retire(self, depth: int, h: Tensor, run: Tensor) -> Tensor:
        """Take the tokens that have halted out of play, and return which stay; exit states go to the store."""
        if self.state_frozen and not self.single and not self.hides:
            leaving = (~run).nonzero()[:, 0]
            self._store_states(depth, self.tokens.take(leaving), h[leaving])
        staying = run.nonzero()[:, 0]
        self.index = staying if self.index is None else self.index[staying]
        self.tokens = self.all.take(self.index)
        self.attention = None
        return staying

    def _store_states(self, depth: int | Tensor, tokens: Tokens, h: Tensor) -> None:
        """Write keys and values of present states, from iteration `depth` on (freeze = "state" has one core layer).

        Layers that are not shared have keys and values of their own: those of iteration `depth` alone.
        """
        shared = self.backbone.shared_core
        (layer,) = self.backbone.core_layers(self.max_depth if shared or not isinstance(depth, int) else depth)
        keys, values = project_key_values(layer, self.backbone.inject(h, tokens.h0), tokens.rope)
        slots = self._allocate(depth, tokens, onwards=shared)
        self.store.put(0, slots, keys, values)

    def _core(self, depth: int, tokens: Tokens, h: Tensor, *, onwards: bool) -> Tensor:
        """Return the core's output for these tokens; their keys and values go to the store on the way.

        With freeze = "first" those of the first iteration are there already.
        """
        there = self.backbone.freeze == "first" and depth > 1
        slots = None if there else self._allocate(depth, tokens, onwards=onwards)
        if self.attention is None:
            self.attention = FlatAttention(self.store, tokens.rows, tokens.columns, single=self.single)
        self.attention.begin(depth, slots)
        x = self.backbone.inject(h, tokens.h0)[None]
        cos, sin = tokens.rope
        layers = self.backbone.core_layers(depth)
        out = run_layers(layers, x, None, (cos[None], sin[None]), plan=self.attention)[0]
        return self.backbone.end_iteration(out)

    def _allocate(self, depth: int | Tensor, tokens: Tokens, *, onwards: bool) -> Any:
        store: Any = self.store  # `single` and depths in a tensor are for the cache's store alone
        return store.allocate(depth, tokens.rows, None if self.single else tokens.columns, onwards=onwards)

    def _write_back(self, index: Tensor | None, h: Tensor, state: Any) -> None:
        if index is None:
            self.h, self.state = h, state
            self.executed += 1
        else:
            self.h[index] = h
            self.executed[index] += 1
            self.state.put(index, state)
