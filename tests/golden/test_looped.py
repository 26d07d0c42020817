"""Released looped models: what their original code computed, and what it could not do.

The numbers were computed by the code of the models' authors on tiny random checkpoints (golden/data/looped, with their
licences): states after every iteration, logits at every depth, greedy continuations.
"""

import re
from pathlib import Path

import pytest
import torch
from tests.released_support import FAMILIES, LOOPED, RAVEN, reference, released
from torch import Tensor
from transformers import Trainer, TrainingArguments

from anira.models import AniraForCausalLM

EXACT = {"rtol": 0, "atol": 1e-9}


def close32(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5 * float(theirs.abs().max()))


def depths(names: dict[str, Tensor], pattern: str) -> dict[str, int]:
    """Return the recorded tensors of a pattern, with the depth in their names."""
    return {name: int(found[1]) for name in names if (found := re.fullmatch(pattern, name))}


@pytest.mark.parametrize("family", RAVEN)
@pytest.mark.parametrize("start", ["zero", "random"])
def test_raven_states_and_logits(family: str, start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ref, model = reference(family), released(family)
    if start == "random":
        monkeypatch.setattr(model.model, "initial_state", lambda h0, positions: ref["init_state.random"])
    recorded = depths(ref, rf"logits\.{start}\.steps(\d)")
    assert set(recorded.values()) == {0, 1, 2, 4}
    with torch.no_grad():
        for name, depth in recorded.items():
            out = model(ref["input_ids"], max_depth=depth, output_iteration_states=True, output_hidden_states=True)
            torch.testing.assert_close(out.logits, ref[name], **EXACT)
            for ours, theirs in zip(out.iteration_states[1:], ref[f"states.{start}"], strict=False):
                torch.testing.assert_close(ours, theirs, **EXACT)
        torch.testing.assert_close(out.hidden_states[0], ref["prelude_out"], **EXACT)
        torch.testing.assert_close(out.hidden_states[-1], ref[f"final_hidden.{start}.steps4"], **EXACT)


@pytest.mark.parametrize("family", RAVEN)
def test_raven_default_depth_and_loss(family: str) -> None:
    ref, model = reference(family), released(family)
    with torch.no_grad():
        torch.testing.assert_close(model(ref["input_ids"]).logits, ref["logits.zero.default_depth"], **EXACT)
        # Their labels are not shifted: label i belongs to the logits of position i. Ours are, as in Hugging Face.
        ids = torch.cat([ref["input_ids"], torch.zeros_like(ref["input_ids"][:, :1])], dim=1)
        labels = torch.cat([torch.full_like(ids[:, :1], -100), ref["labels"]], dim=1)
        torch.testing.assert_close(model(ids, labels=labels).loss[None], ref["loss.zero.steps4"], **EXACT)


def test_ouro_states_and_gate() -> None:
    ref, model = reference("ouro"), released("ouro")
    with torch.no_grad():
        out = model(ref["input_ids"], output_iteration_states=True)
        torch.testing.assert_close(torch.stack(out.iteration_states[1:]), ref["states"], **EXACT)
        torch.testing.assert_close(out.logits, ref["logits.default"], **EXACT)
        torch.testing.assert_close(out.exit_log_probs.exp(), ref["exit_pdf"], **EXACT)
        gate = torch.stack([model.policy.decider(state)[..., 0] for state in out.iteration_states[1:]])
        torch.testing.assert_close(gate, ref["gate_logits"], **EXACT)
        mass = ref["exit_pdf"].movedim(-1, 0)[..., None]
        weighted = (model.lm_head(ref["states"]) * mass).sum(0)
        torch.testing.assert_close(weighted, ref["logits.weighted"], **EXACT)


def test_ouro_at_every_depth() -> None:
    ref, model = reference("ouro"), released("ouro")
    with torch.no_grad():
        for name, depth in depths(ref, r"logits\.total_ut_steps(\d)").items():
            out = model(ref["input_ids"], max_depth=depth)
            torch.testing.assert_close(out.logits, ref[name], **EXACT)
            torch.testing.assert_close(out.exit_log_probs.exp(), ref[f"exit_pdf.total_ut_steps{depth}"], **EXACT)
        for name, depth in depths(ref, r"logits\.exit_at_step(\d)").items():  # counted from 0
            torch.testing.assert_close(model(ref["input_ids"], exit_depth=depth + 1).logits, ref[name], **EXACT)


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.9])
def test_ouro_exits(threshold: float) -> None:
    """Virtual exits are the original's; real ones stop, and start from the same decision."""
    ref, model = reference("ouro"), released("ouro")
    steps = ref[f"exit_steps.threshold{threshold}"]
    with torch.no_grad():
        virtual = model(ref["input_ids"], threshold=threshold, exits="virtual")
        real = model(ref["input_ids"], threshold=threshold)
    torch.testing.assert_close(virtual.logits, ref[f"logits.threshold{threshold}"], **EXACT)
    assert torch.equal(virtual.exit_depth, steps + 1)
    assert (virtual.executed == 4).all()
    assert torch.equal(real.executed, real.exit_depth) and int(real.executed.sum()) < virtual.executed.sum()
    assert torch.equal(real.exit_depth[:, 0], steps[:, 0] + 1)  # nobody else's exit can have changed the first token
    torch.testing.assert_close(real.logits[:, 0], ref[f"logits.threshold{threshold}"][:, 0], **EXACT)


@pytest.mark.parametrize("family", FAMILIES)
def test_float32(family: str) -> None:
    ref, model = reference(family, "reference_float32"), released(family, torch.float32)
    pattern = r"logits\.total_ut_steps(\d)" if family == "ouro" else r"logits\.zero\.steps(\d)"
    with torch.no_grad():
        for name, depth in depths(ref, pattern).items():
            close32(model(ref["input_ids"], max_depth=depth).logits, ref[name])


GREEDY = [
    *((family, f"greedy.zero.steps{depth}", {"max_depth": depth}) for family in RAVEN for depth in (2, 4)),
    ("ouro", "greedy.default", {}),
    ("ouro", "greedy.exit_at_step1", {"exit_depth": 2}),
    ("ouro", "greedy.threshold0.5", {"threshold": 0.5, "exits": "virtual"}),
]


@pytest.mark.parametrize(("family", "name", "how"), GREEDY, ids=[f"{f}-{n}" for f, n, _ in GREEDY])
@pytest.mark.parametrize("use_cache", [True, False])
def test_greedy(family: str, name: str, how: dict[str, object], use_cache: bool) -> None:
    ref, model = reference(family), released(family)
    ids = ref["input_ids"]
    mask = torch.ones_like(ids)
    out = model.generate(ids, attention_mask=mask, max_new_tokens=6, do_sample=False, use_cache=use_cache, **how)
    assert torch.equal(out, ref[name])


@pytest.mark.parametrize("family", FAMILIES)
def test_padded_batches_equal_single_rows(family: str) -> None:
    """The originals ignore padding: they attend to it, or shift positions by it."""
    model, row = released(family), reference(family)["input_ids"][0]
    how = {"threshold": 0.5} if family == "ouro" else {}
    padded, mask = torch.zeros(2, 9, dtype=torch.long), torch.zeros(2, 9, dtype=torch.long)
    padded[0], mask[0] = row, 1
    padded[1, 4:], mask[1, 4:] = row[:5], 1
    options = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0, **how}
    with torch.no_grad():
        batch = model(padded, attention_mask=mask, **how)
        single = model(row[None, :5], **how)
        torch.testing.assert_close(batch.logits[1, 4:], single.logits[0], **EXACT)
        assert torch.equal(batch.executed[1, 4:], single.executed[0])
        both = model.generate(padded, attention_mask=mask, **options)
        alone = model.generate(row[None, :5], attention_mask=mask[:1, :5], **options)
    assert torch.equal(both[1, 9:], alone[0, 5:])


@pytest.mark.parametrize("family", FAMILIES)
def test_cached_equals_uncached_with_real_exits(family: str) -> None:
    """Token by token, with every released model under exits that really stop."""
    if family == "ouro":
        model, how = released(family), {"threshold": 0.6}
    else:
        model = AniraForCausalLM.from_released(LOOPED / family, policy="huginn", dtype=torch.float64)
        how = {"select": "latent", "threshold": 0.9}
    ids, layer = reference(family)["input_ids"], model.model.core[0]
    with torch.no_grad():
        whole = model(ids, **how)
        calls: list[int] = []
        handle = layer.register_forward_hook(lambda module, args, out: calls.append(out.shape[1]))
        past, logits, executed = None, [], []
        for t in range(ids.shape[1]):
            out = model(ids[:, t : t + 1], past_key_values=past, use_cache=True, **how)
            past = out.past_key_values
            logits.append(out.logits)
            executed.append(out.executed)
        handle.remove()
    torch.testing.assert_close(torch.cat(logits, 1), whole.logits, **EXACT)
    assert torch.equal(torch.cat(executed, 1), whole.executed)
    assert 1 < whole.executed.double().mean() < 4
    assert sum(calls) == int(whole.executed.sum())  # the core ran for nobody who had stopped


@pytest.mark.parametrize("family", FAMILIES)
def test_trainer_trains_a_released_model(family: str, tmp_path: Path) -> None:
    model = AniraForCausalLM.from_released(LOOPED / family, dtype=torch.float32)
    rows = [{"input_ids": row, "labels": row} for row in reference(family)["input_ids"]] * 2
    options = TrainingArguments(
        tmp_path,
        max_steps=3,
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        report_to=[],
        save_strategy="no",
        dataloader_pin_memory=False,
    )
    trainer = Trainer(model, options, train_dataset=rows)
    with torch.no_grad():
        before = float(model(**{key: torch.stack([row[key] for row in rows]) for key in rows[0]}).loss)
    trainer.train()
    with torch.no_grad():
        after = float(model(**{key: torch.stack([row[key] for row in rows]) for key in rows[0]}).loss)
    assert after < before
