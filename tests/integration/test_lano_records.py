"""LANO through evaluation: records of one sentence a row, and probes at the positions that predict their tokens."""

import numpy as np
from tests.unit.evaluation.evaluation_support import evaluated, model_for

from anira.tasks.lano import Lano, LanoConfig, token_features

TASK = Lano(LanoConfig(start_symbol=13, packed_length=64))


def test_probes_stand_where_their_tokens_are_predicted(tmp_path):
    instances, tokens = evaluated(model_for(TASK), TASK, tmp_path / "e", count=5)
    rows = TASK.rows(seed=0, stream="eval", start=0, count=5, knob=3)
    assert instances["knob"].to_list() == [3] * 5
    assert instances["meta_grammatical_sentences"].to_list() == [1] * 5
    assert instances["num_tokens"].to_list() == rows.lengths.tolist()
    for i in range(5):
        mine, words = tokens.filter(instance_id=i), rows.ids(i)[1:-1]
        features = token_features(TASK.grammar(), words)
        # From <bos>, which predicts the first token, to the last token but one; then <eos> is predicted.
        for name in features[0]._fields:
            assert mine[f"probe_{name}"].to_list() == [*(getattr(one, name) for one in features), None, None]
        assert mine["probe_next_entropy"].null_count() == 2
        assert mine["target_kind"].to_list() == [*["answer"] * (len(words) + 1), "none"]
        assert mine["target_id"].to_list() == [*rows.ids(i)[1:], None]


def test_greedy_sentences_are_graded_leniently(tmp_path):
    """An untrained model writes no sentence; what it wrote is stored."""
    instances, tokens = evaluated(model_for(TASK), TASK, tmp_path / "g", count=3, decode="generated")
    assert not instances["lenient_correct"].any()
    assert len(set(np.unique(tokens["input_id"]))) > 1
