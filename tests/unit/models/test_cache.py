"""The cache holds one slot for each token and executed iteration, and what exactness needs, and nothing else."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from tests.models_support import Case, random_ids, random_model, small_config, spread_case
from torch import Tensor

from anira.models import AniraOutput, DepthCache

BACKBONES: list[dict[str, Any]] = [
    {"num_attention_heads": 4, "num_key_value_heads": 2},
    {"freeze": "kv", "injection": "add"},
    {"num_core_layers": 3, "num_key_value_heads": 1},
]
on_backbones = pytest.mark.parametrize("backbone", BACKBONES)


def slots_needed(out: AniraOutput, freeze: str | None) -> int:
    """Return one slot for each executed iteration, and under state-freeze one for the exit state of an early exit."""
    executed = out.executed[out.executed > 0]
    return int(((executed + 1).clamp(max=5) if freeze == "state" else executed).sum())


@on_backbones
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "fixed", "similarity"])
def test_slots_follow_from_the_depths(policy: str, padded: bool, backbone: dict[str, Any]) -> None:
    case = spread_case(small_config(policy, **backbone), padded=padded)
    for out in (case.one_by_one(), case.in_chunks(), case.cached([14])):
        assert out.past_key_values.num_slots == slots_needed(out, case.model.config.freeze)


def test_a_virtual_exit_costs_what_it_executed() -> None:
    out = spread_case(small_config("anira-o"), settings={"select": "mode"}).one_by_one()
    assert (out.executed > out.exit_depth).any()
    assert out.past_key_values.num_slots == slots_needed(out, "state")


@pytest.mark.parametrize(("policy", "freeze"), [("gates", "kv"), ("gates-running", "kv"), ("gates-running", "state")])
def test_a_skipped_iteration_costs_no_slot(policy: str, freeze: str) -> None:
    out = spread_case(small_config(policy, freeze=freeze)).one_by_one()
    assert (out.executed < out.exit_depth).any()
    assert out.past_key_values.num_slots == out.executed.sum()


def held_tensors(value: object, seen: set[int] | None = None) -> Iterator[Tensor]:
    """Find every tensor that can be reached from an object."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from held_tensors(item, seen)
    elif isinstance(value, list | tuple | set):
        for item in value:
            yield from held_tensors(item, seen)
    else:
        yield from held_tensors(getattr(value, "__dict__", {}), seen)


@on_backbones
def test_nbytes_counts_every_tensor(backbone: dict[str, Any]) -> None:
    cache = spread_case(small_config("anira-o", **backbone)).one_by_one().past_key_values
    for change in (lambda: None, lambda: cache.crop(-3), lambda: cache.batch_repeat_interleave(2)):
        change()
        assert cache.nbytes == sum(tensor.nbytes for tensor in held_tensors(cache)) > 0


def cache_after(depth: int, time: int = 300, **backbone: Any) -> DepthCache:
    case = Case(random_model(small_config("fixed", **backbone)), random_ids(2, time), settings={"exit_depth": depth})
    cache = case.cached([time // 2, 1, time - time // 2 - 1]).past_key_values
    assert cache is not None
    return cache


@on_backbones
def test_memory_falls_with_depth_as_the_slots_say(backbone: dict[str, Any]) -> None:
    config = small_config("fixed", **backbone)
    slot = config.num_core_layers * 2 * config.num_key_value_heads * config.head_dim * 8
    outer = 2 * 2 * config.num_key_value_heads * config.head_dim * 8  # prelude and coda, a token
    sizes = []
    for depth in range(1, 6):
        cache = cache_after(depth, **backbone)
        per_token = min(depth + 1, 5) if config.freeze == "state" else depth
        assert cache.num_slots == 600 * per_token
        used = 600 * (per_token * slot + outer)
        book_keeping = 600 * (5 * 8 + 16)  # an index for each iteration, a depth, a flag
        assert used <= cache.nbytes <= used + (cache.num_slots // 4 + 64) * slot + book_keeping
        sizes.append(cache.nbytes)
    shallow, deep = sizes[0], sizes[-1]
    assert shallow < (0.65 if config.freeze == "state" else 0.5) * deep
    assert sizes == sorted(sizes)


def test_copies_of_a_row_share_their_slots() -> None:
    cache = cache_after(3)
    slots, size = cache.num_slots, cache.nbytes
    cache.batch_repeat_interleave(4)
    assert cache.num_slots == slots
    assert cache.nbytes < 4 * size
    assert cache.exit_depth.shape == (8, 300)


def test_rows_that_go_take_their_slots_along() -> None:
    cache = cache_after(3)
    slots = cache.num_slots
    cache.batch_select_indices(torch.tensor([1]))
    assert cache.num_slots == slots // 2
    cache.crop(-150)
    assert cache.num_slots == slots // 4
    assert cache.get_seq_length() == 150


def test_the_depth_trace_is_that_of_all_calls() -> None:
    case = spread_case(small_config("anira-o"), padded=True)
    out = case.in_chunks()
    assert torch.equal(out.past_key_values.exit_depth, out.exit_depth)


def test_a_new_cache_is_empty_and_so_is_one_after_reset() -> None:
    case = spread_case(small_config("anira-o"))
    fresh, used = DepthCache(case.model.config), case.one_by_one().past_key_values
    used.reset()
    for cache in (fresh, used):
        assert cache.get_seq_length() == 0
        assert cache.num_slots == 0
        assert cache.exit_depth is None
    again = case.model(case.ids, past_key_values=used)
    torch.testing.assert_close(again.logits, case.parallel().logits, rtol=0, atol=1e-9)
