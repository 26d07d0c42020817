"""The layers of a model on the tokens of one tick: prelude, one iteration of the core, coda and head."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from anira.inference.engine.attention import Places, plan_attention
from anira.inference.engine.requests import Lane
from anira.inference.engine.wave import Kept, Wave
from anira.models import AniraForCausalLM
from anira.models.backbone import Rope, project_key_values, run_layers
from anira.models.cache import KeyValueRule, core_store
from anira.models.host import Numbers, on_device
from anira.models.policies import Context
from anira.models.slots import SlotStore
from anira.models.wrapped import policy_in_use


class Stages:
    """A model whose rows are requests, with the keys and values of all of them."""

    def __init__(self, model: AniraForCausalLM, max_rows: int, kv: KeyValueRule = "exact") -> None:
        self.model, self.backbone, self.policy = model.eval(), model.model, policy_in_use(model.policy)
        config = model.config
        self.prelude = SlotStore(config.num_prelude_layers, 1, max_rows)
        self.core = core_store(config, kv, max_rows)
        # A coda layer's index is its place in a cache of prelude and coda, and so it is here.
        self.coda = SlotStore(config.num_prelude_layers + config.num_coda_layers, 1, max_rows)

    @property
    def stores(self) -> tuple[SlotStore, ...]:
        """Keys and values of prelude, core and coda."""
        return self.prelude, self.core, self.coda

    def enter(self, ids: list[int], places: Places, lanes: dict[Lane, Numbers]) -> list[Wave]:
        """Run the prelude on new tokens, and return them as they enter the core, a wave for each lane."""
        numbers = self._device(np.array(ids))
        x = self.backbone.embed_tokens(numbers)
        rope = self._rope(x, places)
        h0 = self._layers(self.backbone.prelude, self.prelude, places, x, rope)
        return [self._wave(lane, which, places, numbers, h0, rope) for lane, which in lanes.items()]

    def _wave(
        self, lane: Lane, which: Numbers, places: Places, ids: Int[Tensor, " tokens"], h0: Tensor, rope: Rope
    ) -> Wave:
        index, own = self._device(which), places.take(which)
        positions, rule = self._device(own.columns), self.policy.rule(lane.select, lane.threshold)
        context = Context(
            valid=torch.ones_like(index, dtype=torch.bool),
            positions=positions,
            rows=self._device(own.rows),
            ids=ids[index],
            max_depth=self.model.config.max_depth,
            select=rule.select,
            threshold=rule.threshold,
            forced_depth=None if lane.exit_depth is None else torch.full_like(positions, lane.exit_depth),
            probs=False,
            head=self.model.head_logits,
            coda=None if len(self.backbone.coda) else self.model.head_logits,
        )
        phases = (rope[0][index], rope[1][index])
        wave = Wave(self.backbone, self.policy, self.core, context, own, h0[index], phases, lane.exit_depth)
        if not wave.skips:
            wave.ask()  # everyone runs the first iteration
        return wave

    def iterate(self, waves: list[Wave]) -> None:
        """Run one iteration of the core for everybody who wants one."""
        ready = [wave for wave in waves if wave.route is not None]
        # With freeze = "first" later iterations leave no keys and values, and those of the first must be there before.
        for group in ([one for one in ready if one.writes], [one for one in ready if not one.writes]):
            if group:
                self._iterate_together(group)

    def keep(self, kept: Sequence[Kept]) -> None:
        """Store keys and values of states that stay behind."""
        if not kept:
            return
        places = Places.join([one.places for one in kept])
        (layer,) = self.backbone.core_layers(1)
        keys, values = project_key_values(
            layer, torch.cat([one.x for one in kept]), _joined([one.rope for one in kept])
        )
        slots = self.core.allocate(places.depths, places.rows, places.columns, onwards=True)
        self.core.put(0, self._device(slots), keys, values)

    def _iterate_together(self, waves: list[Wave]) -> None:
        parts = [wave.inputs() for wave in waves]
        places = Places.join([places for places, *_ in parts])
        slots = np.concatenate([slots for _, slots, *_ in parts if slots is not None]) if waves[0].writes else None
        x = torch.cat([x for _, _, x, _ in parts])
        rope = _joined([rope for *_, rope in parts])
        out = self._attended(self.backbone.core_layers(1), self.core, places, x, rope, slots)
        candidates = self.backbone.end_iteration(out).split([len(places) for places, *_ in parts])
        for wave, candidate in zip(waves, candidates, strict=True):
            wave.update(candidate)

    def read_out(self, z: Float[Tensor, "tokens dim"], places: Places, through: str) -> Float[Tensor, "tokens dim"]:
        """Return what the head reads, of states of tokens whose predecessors have been read out."""
        if through == "head":
            return z
        return self._layers(self.backbone.coda, self.coda, places, self.backbone.before_coda(z), self._rope(z, places))

    def _device(self, numbers: Numbers) -> Tensor:
        return on_device(numbers, self.model.device)

    def settle(self, ends: Numbers) -> None:
        """Lay out what will not change any more: of each row, the tokens before those that are on their way."""
        for store in self.stores:
            store.settle(ends)

    def release(self, row: int) -> None:
        """Forget a row."""
        for store in self.stores:
            store.release(row)

    def _rope(self, like: Tensor, places: Places) -> Rope:
        cos, sin = self.backbone.rope(like[None], self._device(places.columns)[None])
        return cos[0], sin[0]

    def _layers(self, layers: Any, store: SlotStore, places: Places, x: Tensor, rope: Rope) -> Tensor:
        """Run prelude or coda on tokens, whose keys and values go to a store."""
        if not len(layers):
            return x
        slots = store.allocate(places.depths, places.rows, places.columns, onwards=True)
        return self._attended(layers, store, places, x, rope, slots)

    def _attended(
        self, layers: Any, store: SlotStore, places: Places, x: Tensor, rope: Rope, slots: Numbers | None
    ) -> Tensor:
        """Run layers on tokens in the order that their attention wants, and return the results in theirs."""
        if not len(places):
            return x
        plan, order = plan_attention(store, places, slots, x.device)
        index = self._device(order)
        phases = (rope[0][index][None], rope[1][index][None])
        out = run_layers(layers, x[index][None], None, phases, plan=plan)[0]
        return torch.empty_like(out).index_copy_(0, index, out)


def _joined(ropes: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    return torch.cat([cos for cos, _ in ropes]), torch.cat([sin for _, sin in ropes])
