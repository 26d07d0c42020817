"""Any sequence of operations on a cache leaves what a new one would hold for the rows that are left."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models_support import TOLERANCE, VOCAB, random_model, small_config
from torch import Tensor

from anira.models import AniraForCausalLM, DepthCache

MODELS = {
    "state": random_model(small_config("anira-o", num_attention_heads=4, num_key_value_heads=2)),
    "kv": random_model(small_config("anira-e", num_core_layers=2, injection="add")),
    "skipping": random_model(small_config("gates")),
}


@dataclass
class Mirror:
    """A cache, and by its side the tokens it stands for; every token has a number that its copies share."""

    model: AniraForCausalLM
    cache: DepthCache
    ids: Tensor
    mask: Tensor
    numbers: Tensor
    slots: dict[int, int]
    """Slots of each token by its number."""

    def append(self, width: int, seed: int, *, padded: bool = False) -> Tensor:
        """Run new tokens; return their logits."""
        shape, generator = (len(self.ids), width), torch.Generator().manual_seed(seed)
        ids = torch.randint(1, VOCAB, shape, generator=generator)
        mask = (torch.rand(shape, generator=generator) < 0.7) | (torch.arange(len(ids)) == 0)[:, None]
        numbers = len(self.slots) + torch.arange(ids.numel()).view(shape)
        self.ids, self.numbers = torch.cat([self.ids, ids], dim=1), torch.cat([self.numbers, numbers], dim=1)
        self.mask = torch.cat([self.mask, mask.long() if padded else torch.ones_like(ids)], dim=1)
        out = self.model(ids, self.mask, past_key_values=self.cache)
        state = self.model.config.freeze == "state" and self.model.policy.timing != "route"
        needed = (out.executed + 1).clamp(max=5) if state else out.executed
        needed = needed * self.mask[:, -width:]
        self.slots |= dict(zip(numbers.flatten().tolist(), needed.flatten().tolist(), strict=True))
        return out.logits

    def take(self, rows: Tensor) -> None:
        self.ids, self.mask, self.numbers = self.ids[rows], self.mask[rows], self.numbers[rows]

    def crop(self, width: int) -> None:
        """Remove the last columns, but keep one."""
        width = min(width, self.ids.shape[1] - 1)
        if width:
            self.cache.crop(-width)
            self.ids, self.mask, self.numbers = (x[:, :-width] for x in (self.ids, self.mask, self.numbers))

    def reorder(self, seed: int) -> None:
        """Draw as many rows as there are, with repetition, as a beam search does."""
        rows = torch.randint(len(self.ids), (len(self.ids),), generator=torch.Generator().manual_seed(seed))
        self.cache.reorder_cache(rows)
        self.take(rows)

    def repeat(self, times: int) -> None:
        if times * len(self.ids) <= 6:
            self.cache.batch_repeat_interleave(times)
            self.take(torch.arange(len(self.ids)).repeat_interleave(times))

    def select(self, seed: int) -> None:
        """Keep some rows, at least one."""
        generator = torch.Generator().manual_seed(seed)
        count = int(torch.randint(1, len(self.ids) + 1, (), generator=generator))
        rows = torch.randperm(len(self.ids), generator=generator)[:count]
        self.cache.batch_select_indices(rows)
        self.take(rows)


numbers = st.integers(0, 999)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 4), numbers),
        st.tuples(st.just("crop"), st.integers(1, 5)),
        st.tuples(st.sampled_from(["reorder", "select"]), numbers),
        st.tuples(st.just("repeat"), st.integers(2, 3)),
    ),
    max_size=6,
)


@pytest.mark.parametrize("name", MODELS)
@settings(deadline=None, max_examples=25)
@given(batch=st.integers(1, 3), padded=st.booleans(), seed=numbers, calls=operations)
def test_any_operations_against_a_new_start(
    name: str, batch: int, padded: bool, seed: int, calls: list[tuple[Any, ...]]
) -> None:
    model, none = MODELS[name], torch.zeros(batch, 0, dtype=torch.long)
    mirror = Mirror(model, DepthCache(model.config), none, none, none, {})
    mirror.append(5, seed, padded=padded)
    for call, *arguments in calls:
        getattr(mirror, call)(*arguments)
    if name != "skipping":
        kept = set(mirror.numbers.flatten().tolist())
        assert mirror.cache.num_slots == sum(mirror.slots[number] for number in kept)
    logits = mirror.append(3, seed + 1)
    whole = model(mirror.ids, mirror.mask)
    torch.testing.assert_close(logits, whole.logits[:, -3:], rtol=0, atol=TOLERANCE)
    assert torch.equal(mirror.cache.exit_depth, whole.exit_depth * mirror.mask)
    assert mirror.cache.get_seq_length() == mirror.ids.shape[1]
