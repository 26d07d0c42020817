"""Depths, logit lens and generation of a text: those of the model, with the words of the task."""

import pytest
import torch
from tests.unit.runs.runs_support import BREVO, MANO, QUESTION, loaded, question

from anira.config import UserError
from anira.evaluation.answer import answer


def call(run, view, **options):
    with torch.no_grad():
        return run.model(torch.tensor([[token.id for token in view.tokens]]), **options)


@pytest.mark.parametrize("rule", [{}, {"select": "quantile", "threshold": 0.9}])
def test_depths_are_those_of_the_model(rule):
    run = loaded(MANO)
    found = run.depths(QUESTION, **rule)
    output = call(run, found, **rule)
    assert [token.text for token in found.tokens] == ["<bos>", "+", "1", "*", "2", "3", "<ans>"]
    assert [token.exit_depth for token in found.tokens] == output.exit_depth[0].tolist()
    probs = torch.tensor([token.exit_probs for token in found.tokens])
    torch.testing.assert_close(probs, output.exit_log_probs[0].exp(), rtol=1e-4, atol=1e-5)
    assert found.tokens[-1].truth == found.tokens[-1].predicts == "2"  # 1 + 2 * 3 modulo 5
    assert [token.asked for token in found.tokens] == [False] * 6 + [True]
    assert found.table["exit_depth"].mean() == found.mean_depth


def test_a_forced_depth_is_every_tokens():
    found = loaded(MANO).depths(QUESTION, exit_depth=3)
    assert {token.exit_depth for token in found.tokens} == {3}
    assert {token.exit_probs for token in found.tokens} == {None}


def test_the_answer_is_read_along_unless_it_is_not_wanted():
    run = loaded(BREVO)
    asked = question(run, 4)
    with_answer, without = run.depths(asked), run.depths(asked, answer=False)
    assert with_answer.tokens[: len(without.tokens)] == without.tokens
    assert without.tokens[-1].text == "<ans>"
    answers = [token.text for token in with_answer.tokens[len(without.tokens) :]]
    assert answers == [token.truth for token in with_answer.tokens if token.asked][:-1]


def test_a_text_that_is_no_question_is_read_as_it_stands():
    found = loaded(MANO).depths("+ 1 2 <ans> 3")
    assert [token.text for token in found.tokens] == ["<bos>", "+", "1", "2", "<ans>", "3"]
    assert all(token.asked and token.truth is None for token in found.tokens)
    with pytest.raises(UserError, match="unknown token 'x'"):
        loaded(MANO).depths("+ 1 x")


def test_the_lens_ends_with_what_the_model_says_and_is_exact_before():
    run = loaded(BREVO)
    found = run.lens(question(run, 4), top=3)
    output = call(run, found)
    for token in found.tokens:
        assert len(token.after) == int(output.executed[0, token.position])
        assert token.after[-1][0].text == token.predicts
        assert [guess.prob for guess in token.after[0]] == sorted((g.prob for g in token.after[0]), reverse=True)
    stopped = call(run, found, exit_depth=output.executed.clamp(max=2)).logits[0].softmax(-1)
    token = max(found.tokens, key=lambda token: len(token.after))
    assert token.after[1][0].prob == pytest.approx(float(stopped[token.position].max()), rel=1e-4)
    assert found.table.height == sum(3 * len(token.after) for token in found.tokens)


@pytest.mark.parametrize("path", [MANO, BREVO])
def test_an_answer_is_that_of_the_command_line(path):
    run = loaded(path)
    asked = question(run, run.task.knob.seen[-1])
    found = run.generate(asked)
    said = answer(run.model, run.task, asked, select=None, threshold=None)
    assert [token.exit_depth for token in found.tokens] == said["depths"]
    assert [token.text for token in found.tokens] == said["tokens"]
    assert (found.answer, found.true_answer, found.correct) == (said["answer"], said["true_answer"], said["correct"])
    assert found.mean_depth == said["mean_depth"]
    assert "right" in repr(found) or "wrong" in repr(found)


def test_another_number_of_tokens_can_be_written_at_a_forced_depth():
    found = loaded(MANO).generate(QUESTION, max_new_tokens=3, exit_depth=2)
    assert {token.exit_depth for token in found.tokens} == {2}
    assert len(found.answer.split()) == 3
    assert found.correct is None
    with pytest.raises(UserError, match="at least 1"):
        loaded(MANO).generate(QUESTION, max_new_tokens=0)


@pytest.mark.parametrize("text", ["<script>", "a&b"])
def test_html_shows_depths_and_escapes_text(text, monkeypatch):
    run = loaded(MANO)
    monkeypatch.setattr(type(run.reader), "text", lambda self, token: text)
    for view in (run.depths(QUESTION), run.lens(QUESTION), run.generate(QUESTION)):
        html = view._repr_html_()
        assert html.startswith('<div class="anira"><style>')
        assert "<script" not in html and "a&b" not in html
    assert run.depths(QUESTION)._repr_html_().count("--share: ") == 7
