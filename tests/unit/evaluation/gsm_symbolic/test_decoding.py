"""Greedy answers in batches: equal to single rows, to `generate`, and to what one pass over the finished rows says."""

import numpy as np
import pytest
import torch
from tests.gsm_support import byte_tokenizer, tiny_anira, tiny_llama

from anira.evaluation.gsm_symbolic.decoding import Ends, end_ids, write_answers
from anira.evaluation.port import depth_model
from anira.evaluation.predict import Settings

PROMPTS = ["Q: 1 + 1\nA:", "Q: a longer question, with 12 cups\nA:", "Q: 3\nA:"]
CPU = torch.device("cpu")
OWN = Settings()


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer()


def ends(tokenizer, most=20, stops=("Q:",), ids=frozenset({0})):
    return Ends(tokenizer=tokenizer, ids=ids, stops=stops, most=most)


def answers(model, tokenizer, prompts, settings=OWN, **how):
    ids = [tokenizer(text)["input_ids"] for text in prompts]
    return write_answers(depth_model(model).start(settings), ids, ends(tokenizer, **how), CPU)


def letters(tokenizer, count):
    """Ids that end a row: some rows of a random model meet one of them early, others late."""
    return frozenset(range(0, 257, count))


@pytest.mark.parametrize("make", [tiny_anira, tiny_llama])
def test_a_batch_gives_each_row_what_it_gets_alone(make, tokenizer):
    model, how = make(), {"ids": letters(tokenizer, 9)}
    together = answers(model, tokenizer, PROMPTS, **how)
    assert len({len(one.ids) for one in together}) > 1, "rows must end at different times"
    for prompt, one in zip(PROMPTS, together, strict=True):
        (alone,) = answers(model, tokenizer, [prompt], **how)
        assert (one.ids, one.text, one.ended) == (alone.ids, alone.text, alone.ended)
        np.testing.assert_array_equal(one.tokens["exit_depth"], alone.tokens["exit_depth"])


@pytest.mark.parametrize("make", [tiny_anira, tiny_llama])
def test_answers_are_those_of_generate(make, tokenizer):
    model = make()
    (one,) = answers(model, tokenizer, PROMPTS[:1])
    ids = torch.tensor([list(one.prompt)])
    made = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=20, do_sample=False, pad_token_id=0)
    assert tuple(made[0, ids.shape[1] :].tolist()) == one.ids


@pytest.mark.parametrize("settings", [OWN, Settings(select="quantile", threshold=0.9), Settings(override="depth-2")])
def test_depths_are_those_of_one_pass_over_the_finished_row(settings, tokenizer):
    model = tiny_anira()
    rows = answers(model, tokenizer, PROMPTS, settings)
    seen = set()
    for one in rows:
        read = torch.tensor([[*one.prompt, *one.ids[:-1]]])
        with torch.no_grad():
            whole = model(read, select=settings.select, threshold=settings.threshold, exit_depth=settings.depth)
        np.testing.assert_array_equal(one.tokens["exit_depth"], whole.exit_depth[0].numpy())
        seen |= set(one.tokens["exit_depth"].tolist())
        if settings.depth is None:
            np.testing.assert_allclose(one.tokens["exit_probs"], whole.exit_log_probs[0].exp().numpy(), atol=1e-9)
        else:
            assert "exit_probs" not in one.tokens
    assert seen == {2} if settings.depth else len(seen) > 1


def test_a_stock_model_has_depth_one_everywhere(tokenizer):
    (one,) = answers(tiny_llama(), tokenizer, PROMPTS[:1])
    assert set(one.tokens["exit_depth"].tolist()) == {1}


def test_text_and_tokens_end_before_the_stop_mark(tokenizer):
    marks = ends(tokenizer)
    ids = tokenizer("is 5.\n\nQ:")["input_ids"]
    assert [marks.reached(ids[: n + 1]) for n in range(len(ids))] == [False] * (len(ids) - 1) + [True]
    kept, text = marks.cut(ids)
    assert (tokenizer.decode(kept), text) == ("is 5.\n\n", "is 5.\n\n")
    assert marks.cut(tokenizer("Q: again")["input_ids"]) == ([], "")
    assert marks.cut([*tokenizer("7")["input_ids"], 0]) == ([*tokenizer("7")["input_ids"], 0], "7")


def test_an_end_of_sequence_ends_a_row_and_counts_as_its_last_token(tokenizer):
    model = tiny_anira()
    (free,) = answers(model, tokenizer, PROMPTS[:1])
    (one,) = answers(model, tokenizer, PROMPTS[:1], ids=frozenset({free.ids[3]}))
    first = free.ids.index(free.ids[3])
    assert (one.ids, one.ended) == (free.ids[: first + 1], True)
    assert not free.ended
    assert len(one.tokens["exit_depth"]) == len(one.prompt) + first


def test_ends_come_from_the_generation_settings_and_the_tokenizer(tokenizer):
    model = tiny_llama()
    model.generation_config.eos_token_id = [5, 7]
    assert end_ids(model, tokenizer) == {0, 5, 7}
