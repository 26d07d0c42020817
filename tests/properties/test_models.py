"""Models that hypothesis draws: nothing depends on later tokens, on padding, on the other rows, or on the cache."""

from dataclasses import replace
from typing import Any

import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.models_support import POLICIES, VOCAB, Case, assert_same, pick, random_ids, random_model, small_config
from torch import Tensor

from anira.models import AniraOutput

# Drawing a case builds a model, which takes longer than drawing a number.
quick = settings(max_examples=settings().max_examples // 2, suppress_health_check=[HealthCheck.too_slow])
seeds = st.integers(0, 10_000)


@st.composite
def backbones(draw: st.DrawFn) -> dict[str, Any]:
    heads = draw(st.sampled_from([1, 2, 4]))
    layers = draw(st.integers(1, 3))
    injection = draw(st.sampled_from(["none", "add", "concat-linear"]))
    return {
        "num_attention_heads": heads,
        "num_key_value_heads": draw(st.sampled_from([n for n in (1, 2, 4) if heads % n == 0])),
        "num_prelude_layers": draw(st.integers(0, 2)),
        "num_core_layers": layers,
        "num_coda_layers": draw(st.integers(0, 2)),
        "max_depth": draw(st.integers(1, 6)),
        "injection": injection,
        "initial_state": draw(st.sampled_from(["prelude", "zero", "random"])) if injection != "none" else "prelude",
        "freeze": draw(st.sampled_from(["state", "kv"])) if layers == 1 else "kv",
        "tie_word_embeddings": draw(st.booleans()),
    }


@st.composite
def cases(draw: st.DrawFn, min_rows: int = 1) -> Case:
    policy, backbone = draw(st.sampled_from(sorted(POLICIES))), draw(backbones())
    unshared = policy == "fixed" and draw(st.booleans())
    model = random_model(small_config(policy, **backbone, shared_core=not unshared), draw(seeds))
    return Case(model, random_ids(draw(st.integers(min_rows, 3)), draw(st.integers(4, 10)), draw(seeds)))


def both_ways(case: Case) -> list[AniraOutput]:
    return [case.parallel(), case.cached([case.ids.shape[1]])]


def fill(shape: tuple[int, int], seed: int) -> Tensor:
    return torch.randint(0, VOCAB, shape, generator=torch.Generator().manual_seed(seed))


@quick
@given(cases(), st.data())
def test_any_chunks_give_what_the_whole_gives(case: Case, data: st.DataObject) -> None:
    time = case.ids.shape[1]
    cuts = sorted(data.draw(st.sets(st.integers(1, time - 1))))
    sizes = [stop - start for start, stop in zip([0, *cuts], [*cuts, time], strict=True)]
    assert_same(case.parallel(), case.cached(sizes))


@quick
@given(cases(), seeds, st.data())
def test_later_tokens_change_nothing_before(case: Case, seed: int, data: st.DataObject) -> None:
    batch, time = case.ids.shape
    start = data.draw(st.integers(1, time - 1))
    changed = torch.cat([case.ids[:, :start], fill((batch, time - start), seed)], dim=1)
    before = (torch.arange(time) < start).expand(batch, -1)
    for one, other in zip(both_ways(case), both_ways(replace(case, ids=changed)), strict=True):
        assert_same(one, other, before)


@quick
@given(cases(), seeds, st.integers(1, 4), st.booleans())
def test_padding_on_the_right_changes_nothing(case: Case, seed: int, width: int, masked: bool) -> None:
    batch, time = case.ids.shape
    padded = torch.cat([case.ids, fill((batch, width), seed)], dim=1)
    valid = (torch.arange(time + width) < time).expand(batch, -1)
    wide = replace(case, ids=padded, mask=valid.long() if masked else None)
    for one, other in zip(both_ways(case), both_ways(wide), strict=True):
        assert_same(pick(one, torch.ones_like(case.ids).bool()), pick(other, valid))


@quick
@given(cases(), seeds, st.data())
def test_padding_anywhere_changes_nothing(case: Case, seed: int, data: st.DataObject) -> None:
    """On the left, on the right of a prompt that is continued, or in between: a row is what is left of it."""
    batch, time = case.ids.shape
    columns = st.lists(st.booleans(), min_size=time, max_size=time).filter(any)
    mask = torch.tensor([data.draw(columns) for _ in range(batch)]).long()
    noisy = replace(case, ids=torch.where(mask.bool(), case.ids, fill((batch, time), seed)), mask=mask)
    size = data.draw(st.integers(1, time - 1))
    assume(mask[:, :size].any() and mask[:, size:].any())  # known: a cached call of nothing but padding fails
    for whole in (*both_ways(noisy), noisy.cached([size, time - size])):
        for i in range(batch):
            this_row = noisy.valid & (torch.arange(batch) == i)[:, None]
            assert_same(noisy.row(i).parallel(), pick(whole, this_row))


@quick
@given(cases(min_rows=2), st.randoms(use_true_random=False))
def test_rows_may_be_permuted(case: Case, random: Any) -> None:
    order = list(range(len(case.ids)))
    random.shuffle(order)
    for one, other in zip(both_ways(case), both_ways(replace(case, ids=case.ids[order])), strict=True):
        moved = AniraOutput(**{name: None if value is None else value[order] for name, value in token_wise(one)})
        assert_same(moved, other)


def token_wise(out: AniraOutput) -> list[tuple[str, Tensor | None]]:
    names = ("logits", "exit_depth", "executed", "exit_log_probs", "expected_depth")
    return [(name, getattr(out, name)) for name in names]
