"""The two ways to run the core.

`run_parallel` unrolls all iterations on whole rows, a static graph: training and analysis. `run_active` computes only
the tokens that still run, against a store of keys and values: prefill, decode and evaluation. Both ask the same policy
in the same order, and give the same states; tests hold them equal in float64.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from anira.models.attention import FlatAttention, KeptKeyValues
from anira.models.backbone import Backbone, Rope, project_key_values, run_layers
from anira.models.cache import SlotStore
from anira.models.masks import restrict
from anira.models.packing import PackedAttention
from anira.models.policies.base import ComputePolicy, Context, Route
from anira.models.present import PresentStore


@dataclass(frozen=True)
class CoreOutput:
    """What a run of the core leaves: the last states, the policy's state, and who executed how much."""

    h: Float[Tensor, "*tokens dim"]
    state: Any
    executed: Int[Tensor, "*tokens"]
    iteration_states: tuple[Float[Tensor, "*tokens dim"], ...] = ()


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
    state = policy.begin(h0, ctx)
    h = backbone.initial_state(h0, ctx.positions)
    executed = torch.zeros_like(ctx.positions)
    states = [h]
    for depth in range(1, ctx.max_depth + 1):
        route = policy.route(depth, h, state)
        executed = executed + route.run
        see = _visible(route, executed, backbone.freeze, policy)
        square, plan = mask, packed
        if see is not None and packed is not None:
            plan = packed.hiding(see)
        elif see is not None:
            square = restrict(mask, see)
        if backbone.freeze == "kv":
            # A gate's weight (timing "route") scales the update; only a straight-through one stands for `run` itself.
            kept = KeptKeyValues(route.run, None if policy.timing == "route" else route.weight, kept, plan)
        layers, x = backbone.core_layers(depth), backbone.inject(h, h0)
        candidate = run_layers(layers, x, square, rope, plan=kept or plan)
        h = policy.update(depth, h, candidate, route, state)
        states.append(h)
    return CoreOutput(h, state, executed, tuple(states) if keep_states else ())


def _visible(route: Route, executed: Tensor, freeze: str | None, policy: ComputePolicy) -> Tensor | None:
    """Return whose keys can be seen. Under freeze = "kv" a token that never ran has none."""
    if freeze == "kv" and policy.timing == "route":
        return executed > 0 if route.see is None else route.see & (executed > 0)
    return route.see


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
        self.hides = False  # whether halted tokens are invisible to the others
        store.skips = store.skips or policy.timing == "route"
        self.state = policy.begin(tokens.h0, ctx)
        self.h = backbone.initial_state(tokens.h0, ctx.positions)
        if policy.timing == "route":
            self.h = self.h.clone()  # written in place from the first iteration on, while h0 is still injected
        self.kept = [self.h.clone()] if keep_states else None
        self.executed = torch.zeros_like(tokens.rows)
        self.depth = 0  # iterations that anybody has run
        self.index: Tensor | None = None  # the tokens in play; None while that is all of them
        self.attention: FlatAttention | None = None  # made anew whenever the set of running tokens changes
        # Exit states are read by later iterations; an unshared core has no exits (and other weights there).
        self.state_frozen = backbone.freeze == "state" and backbone.shared_core
        # Whether the store holds keys and values of a token's present state. Exits are final except for timing "route".
        self.stored = torch.zeros_like(tokens.rows, dtype=torch.bool) if policy.timing == "route" else None

    def run(self) -> CoreOutput:
        """Iterate until nobody is left or the last iteration is done."""
        finished = len(self.all.rows) > 0 and all(self._keep(depth) for depth in range(1, self.max_depth + 1))
        if self.state_frozen and self.stored is None and not self.hides:
            if self.single:
                self._store_exit_states()
            elif finished and self.max_depth < self.store.max_depth:
                # A later call may go deeper than this one was allowed to, and then reads these exit states.
                self._store_states(self.max_depth + 1, self.tokens, self._present(self.h))
        return CoreOutput(self.h, self.state, self.executed, self._iteration_states())

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
        route = self.policy.route(depth, h, state)
        if self.stored is not None:
            return self._iterate_routed(depth, h, state, route)
        if route.see is not None:
            self.hides = self.store.skips = True
        running = int(route.run.sum())
        if running == 0:
            if self.state_frozen and not self.single and not self.hides and self.store.kept:
                self._store_states(depth, self.tokens, h)
            return False
        if running < len(h):
            staying = self._retire(depth, h, route.run)
            h, state, route = h[staying], state.take(staying), _take_route(route, staying)
        route = replace(route, whole=True)
        h = self.policy.update(depth, h, self._core(depth, self.tokens, h, onwards=not self.hides), route, state)
        self._write_back(self.index, h, state)
        self.depth = depth
        return True

    def _iterate_routed(self, depth: int, h: Tensor, state: Any, route: Route) -> bool:
        """The same where tokens may skip an iteration and run a later one: nobody ever leaves."""
        assert self.stored is not None
        onwards = route.see is None
        if self.state_frozen and onwards:
            stale = (~route.run & ~self.stored).nonzero()[:, 0]
            if len(stale):
                self._store_states(depth, self.all.take(stale), h[stale])
                self.stored[stale] = True
        running = route.run.nonzero()[:, 0]
        if len(running):
            self.attention = None
            part, route = state.take(running), _take_route(route, running)
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
        """Write keys and values of present states, from iteration `depth` on (freeze = "state" has one core layer)."""
        (layer,) = self.backbone.core_layers(self.max_depth)
        keys, values = project_key_values(layer, self.backbone.inject(h, tokens.h0), tokens.rope)
        slots = self._allocate(depth, tokens, onwards=True)
        self.store.put(0, slots, keys, values)

    def _core(self, depth: int, tokens: Tokens, h: Tensor, *, onwards: bool) -> Tensor:
        """Return the core's output for these tokens; their keys and values go to the store on the way."""
        slots = self._allocate(depth, tokens, onwards=onwards)
        if self.attention is None:
            self.attention = FlatAttention(self.store, tokens.rows, tokens.columns, single=self.single)
        self.attention.begin(depth, slots)
        x = self.backbone.inject(h, tokens.h0)[None]
        cos, sin = tokens.rope
        return run_layers(self.backbone.core_layers(depth), x, None, (cos[None], sin[None]), plan=self.attention)[0]

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


def _take_route(route: Route, index: Tensor) -> Route:
    def pick(values: Tensor | None) -> Tensor | None:
        return None if values is None else values[index]

    return Route(route.run[index], pick(route.weight), pick(route.see))
