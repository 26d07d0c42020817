from dataclasses import dataclass

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from anira.site.report.tokens import Records, cards, cards_table, choose


@dataclass(frozen=True)
class Made:
    """Stands in for an evaluation in tests of the choice."""

    instances: pl.LazyFrame
    tokens: pl.LazyFrame

    def collect(self, frame):
        return frame.collect()


def made(rows, label="anira-o"):
    """Records of instances (knob, question, right), ids in order; no tokens."""
    columns = [
        {"instance_id": i, "knob": knob, "question": question, "answer": "a", "predicted": "a", "correct": right}
        for i, (knob, question, right) in enumerate(rows)
    ]
    return Records(label=label, max_depth=4, evaluation=Made(pl.LazyFrame(columns), pl.LazyFrame()))


def records(run):
    return Records(label=run.label, max_depth=run.max_depth, evaluation=run.evaluation)


ROWS = st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=30).map(
    lambda pairs: [(knob, f"q{i}", right) for i, (knob, right) in enumerate(pairs)]
)


@given(ROWS, st.integers(0, 8))
def test_the_choice_is_full_distinct_sorted_and_shows_a_mistake_if_there_is_one(rows, count):
    chosen = choose([made(rows)], count)
    right = {(knob, question): ok for knob, question, ok in rows}
    picked = list(zip(chosen["knob"], chosen["question"], strict=True))
    assert len(picked) == len(set(picked)) == min(count, len(rows))
    assert chosen["knob"].is_sorted()
    if count and not all(right.values()):
        assert not all(right[pair] for pair in picked)
    if count > 1 and any(right.values()):
        assert any(right[pair] for pair in picked)


@given(ROWS, st.integers(1, 6))
def test_knobs_take_turns(rows, count):
    right = [row for row in rows if row[2]]
    knobs = choose([made(right)], count)["knob"].to_list() if right else []
    distinct = len({knob for knob, _, _ in right})
    assert len(set(knobs)) == min(distinct, len(knobs))


def test_few_instances_are_spread_over_the_whole_range_of_knobs():
    rows = [(knob, f"q{knob}{i}", True) for knob in range(3, 18) for i in range(3)]
    assert choose([made(rows)], 3)["knob"].to_list() == [3, 10, 17]


def test_a_mistake_comes_from_the_largest_knob_that_has_one():
    rows = [(1, "a", False), (2, "b", False), (3, "c", True)]
    assert choose([made(rows)], 1)["question"].to_list() == ["b"]


def test_instances_that_all_runs_have_come_first():
    one = made([(1, "only here", True), (1, "shared", True)], "anira-e")
    other = made([(1, "shared", True), (1, "only there", True)], "anira-o")
    assert choose([one, other], 5)["question"].to_list() == ["shared"]


def test_a_question_is_right_if_every_run_gets_it_right():
    one = made([(1, "both", True), (1, "one", True)], "anira-e")
    other = made([(1, "both", True), (1, "one", False)], "anira-o")
    assert choose([one, other], 1)["question"].to_list() == ["one"]


def test_a_card_shows_the_same_instance_for_every_run(runs):
    found = cards([records(run) for run in runs], 6)
    assert len(found) == 6
    for card in found:
        assert [strip.label for strip in card.strips] == [run.label for run in runs]
        texts = {tuple(box.text for box in strip.boxes) for strip in card.strips}
        assert len(texts) == 1
        assert " ".join(texts.pop()) == f"<bos> {card.question} {card.answer} <eos>"


def test_boxes_are_the_token_records(runs):
    run = runs[0]
    tokens = run.evaluation.tokens.collect()
    instances = run.evaluation.instances.collect()
    for card in cards([records(run)], 4):
        (strip,) = card.strips
        instance = instances.filter(question=card.question, knob=card.knob).sort("instance_id").row(0, named=True)
        own = tokens.filter(instance_id=instance["instance_id"]).sort("position")
        assert (strip.right, strip.predicted) == (instance["correct"], instance["predicted"])
        assert [box.depth for box in strip.boxes] == own["exit_depth"].to_list()
        assert [box.answer for box in strip.boxes] == (own["target_kind"] == "answer").to_list()
        assert [box.expected for box in strip.boxes] == own["expected_depth"].to_list()
        assert [list(box.probs) for box in strip.boxes] == own["exit_probs"].to_list()
        (answer,) = [box for box in strip.boxes if box.answer]
        assert answer.text == "<ans>"
        assert answer.predicts == strip.predicted
        assert answer.right == strip.right
        assert {box.predicts for box in strip.boxes if not box.answer} == {None}


def test_probes_are_shown_where_they_are_defined(runs):
    (card, *_) = cards([records(runs[0])], 1)
    question = [box for box in card.strips[0].boxes if box.probes]
    assert [box.text for box in question] == card.question.split()[:-1]  # without <ans>
    assert dict(question[0].probes)["is operator"] == 1


def test_a_policy_without_probabilities_has_none(runs):
    (card, *_) = cards([records(runs[2])], 1)
    assert {box.probs for box in card.strips[0].boxes} == {()}
    assert {box.shade for box in card.strips[0].boxes} == {100}


def test_long_instances_lose_their_first_tokens(runs, monkeypatch):
    monkeypatch.setattr("anira.site.report.tokens._MOST_TOKENS", 4)
    monkeypatch.setattr("anira.site.report.tokens._FEWEST_TOKENS", 4)
    whole = cards([records(runs[0])], 1)
    (strip,) = whole[0].strips
    assert [box.text for box in strip.boxes][-1] == "<eos>"
    assert len(strip.boxes) == 4
    assert strip.left_out + 4 == 2 * whole[0].knob + 1 + 4


def test_the_table_has_a_row_for_every_box(runs):
    found = cards([records(run) for run in runs], 3)
    table = cards_table(found, "mano")
    assert len(table) == sum(len(strip.boxes) for card in found for strip in card.strips)
    assert table["stack_depth"].drop_nulls().min() == 0


def test_nothing_can_be_asked_for(runs):
    assert cards([records(runs[0])], 0) == []
    assert cards_table([], "mano").is_empty()
