"""The table of LANO from records: its values, its two alignments, its sets of tokens, its nulls and controls."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats
from tests.sealing_support import edit_table
from tests.unit.measure.lano_support import Strings, write_strings, write_untrained

from anira.config import UserError, to_dict
from anira.measure.lano import ALIGNMENTS, PROXIES, TOKEN_SETS, lano_figures

DRAWS = 200


def figures(tmp_path, plan=None, name="s"):
    folder = write_strings(tmp_path / name, plan or Strings())
    return folder, lano_figures(folder, folder, draws=DRAWS)


def by_hand(folder, shift, kept):
    """Return proxy and depth of the kept tokens of each string, the depth `shift` positions later."""
    tokens = pl.read_parquet(folder / "tokens-k004.parquet")
    out = []
    for (i,), part in tokens.partition_by("instance_id", as_dict=True).items():
        proxy = part["probe_ops_mul"].drop_nulls().to_numpy()
        depth = part["expected_depth"].to_numpy()[shift : shift + len(proxy)]
        count = kept(i, len(proxy))
        out.append((proxy[:count], depth[:count]))
    return out


@pytest.mark.parametrize(("alignment", "shift"), [("predicts", 0), ("reads", 1)])
def test_values_agree_with_scipy(tmp_path, alignment, shift):
    folder, found = figures(tmp_path, Strings(effect=0.2, reading_effect=-0.1, impossible=10))
    sets = {
        "grammatical": lambda i, size: 0 if i < 10 else size,
        "possible": lambda i, size: size // 2 if i < 10 else size,
    }
    for token_set, kept in sets.items():
        strings = [pair for pair in by_hand(folder, shift, kept) if len(pair[0])]
        row = found.row(token_set, alignment, "ops_mul")
        proxy, depth = (np.concatenate(column) for column in zip(*strings, strict=True))
        assert (row.tokens, row.sentences) == (len(proxy), len(strings))
        assert row.pooled.value == pytest.approx(stats.spearmanr(proxy, depth).statistic)
        assert row.within.value == pytest.approx(np.mean([stats.spearmanr(*pair).statistic for pair in strings]))


def test_an_effect_is_found_in_its_own_alignment_only(tmp_path):
    _, ahead = figures(tmp_path, Strings(effect=0.3), "ahead")
    _, behind = figures(tmp_path, Strings(reading_effect=0.3), "behind")
    for proxy in PROXIES:
        for found, own, other in ((ahead, "predicts", "reads"), (behind, "reads", "predicts")):
            row = found.row("grammatical", own, proxy)
            directions = [row.pooled, row.given_position, row.given_input, row.within]
            assert [one.direction for one in directions] == [1] * 4
            assert row.within.value > row.null_within.high
            assert abs(found.row("grammatical", other, proxy).pooled.value) < 0.1


def test_nulls_cover_zero(tmp_path):
    _, found = figures(tmp_path, Strings(effect=0.3))
    for row in found.correlations:
        assert row.null_within.covers_zero
        assert row.null_pooled.low < 0 < row.null_pooled.high


def test_without_an_effect_nineteen_of_twenty_intervals_hold_zero(tmp_path, monkeypatch):
    monkeypatch.setattr("anira.measure.lano.PROXIES", {"ops_add": "additions"})  # one is enough
    held = np.zeros(4)
    for draw in range(20):
        _, found = figures(tmp_path, Strings(n=40, draw=draw), str(draw))
        row = found.row("grammatical", "predicts", "ops_add")
        estimates = (row.pooled, row.given_position, row.given_input, row.within)
        held += [one.low < 0 < one.high for one in estimates]
    assert (held >= 16).all()  # each of the four fails this by chance once in 300 times


def test_what_the_last_token_makes_is_gone_when_it_is_held_fixed(tmp_path):
    _, found = figures(tmp_path, Strings(token_effect=2.0, n=150))
    row = found.row("grammatical", "predicts", "ops_mul")
    assert row.pooled.value > 0.5
    assert row.within.value > row.null_within.high  # nothing else tells: it is not noise
    assert row.given_input.low < 0 < row.given_input.high


def test_what_the_position_makes_is_gone_when_it_is_held_fixed(tmp_path):
    _, found = figures(tmp_path, Strings(position_effect=2.0, n=150))
    row = found.row("grammatical", "predicts", "ops_mul")
    assert row.pooled.value > 0.9
    assert abs(row.given_position.value) < 0.2


def test_rates_depth_and_cross_entropy(tmp_path):
    folder, found = figures(tmp_path, Strings(impossible=15))
    instances, tokens = (pl.read_parquet(folder / f"{kind}-k004.parquet") for kind in ("instances", "tokens"))
    assert found.strings == 60
    assert found.grammatical.value == 0.75
    assert found.grammatical.low < 0.75 < found.grammatical.high
    assert found.ended.value == 1
    assert (found.tokens, found.possible_tokens) == (
        instances["meta_tokens"].sum(),
        instances["meta_possible_tokens"].sum(),
    )
    assert found.cross_entropy.value == pytest.approx(tokens["ce"].mean(), rel=1e-6)
    assert found.cross_entropy.low < found.cross_entropy.value < found.cross_entropy.high
    predicting = tokens.filter(pl.col("probe_ops_mul").is_not_null())
    assert found.depth.value == pytest.approx(predicting["expected_depth"].mean(), rel=1e-5, abs=1e-6)
    who = found.labels
    assert (who.variant, who.seed, who.step, found.warnings) == ("anira-e", 0, 100, ())


def test_untrained_models_are_correlated_on_the_same_tokens(tmp_path):
    folder = write_strings(tmp_path / "s", Strings(impossible=10))
    depths = write_untrained(tmp_path / "depths.parquet", folder, [0.3, 0.0])
    found = lano_figures(folder, folder, depths, draws=10)
    tokens = pl.read_parquet(folder / "tokens-k004.parquet").join(
        pl.read_parquet(depths), on=["instance_id", "position"], how="left", maintain_order="left"
    )
    kept = tokens.filter(pl.col("probe_ops_mul").is_not_null() & (pl.col("instance_id") >= 10))
    row = found.row("grammatical", "predicts", "ops_mul").untrained
    assert row.pooled == pytest.approx(
        [stats.spearmanr(kept["probe_ops_mul"], kept[f"untrained_{i}"]).statistic for i in (0, 1)]
    )
    assert row.given_input[0] > 0.5
    assert abs(row.given_input[1]) < 0.1
    assert abs(found.row("grammatical", "reads", "ops_mul").untrained.pooled[0]) < 0.1
    assert (
        found.row("grammatical", "predicts", "ops_mul").pooled
        == lano_figures(folder, folder, draws=10).row("grammatical", "predicts", "ops_mul").pooled
    ), "they change nothing else"


def test_depths_of_other_strings_are_refused(tmp_path):
    folder, other = (write_strings(tmp_path / str(n), Strings(n=n)) for n in (20, 10))
    depths = write_untrained(tmp_path / "depths.parquet", other, [0.0])
    with pytest.raises(UserError, match="has not the depths of all tokens"):
        lano_figures(folder, folder, depths, draws=10)


def test_intervals_cluster_by_string(tmp_path):
    """Strings differ in how depth follows the proxy: as independent tokens they would seem to agree."""
    rng = np.random.default_rng(0)
    folder = write_strings(tmp_path / "one", Strings(effect=0.1, n=40))
    path = folder / "tokens-k004.parquet"
    tokens = pl.read_parquet(path)
    sign = pl.Series(rng.choice([-1.0, 1.0], size=40)).gather(tokens["instance_id"])
    depth = (500 + sign * tokens["probe_ops_mul"].fill_null(0)).cast(pl.Float32)
    edit_table(path, lambda table: table.with_columns(expected_depth=depth))
    row = lano_figures(folder, folder, draws=DRAWS).row("grammatical", "predicts", "ops_mul")
    naive = 1.96 / np.sqrt(row.tokens)
    assert (row.pooled.high - row.pooled.low) / 2 > 2 * naive


def test_equal_seeds_give_equal_figures(tmp_path):
    folder, found = figures(tmp_path)
    assert lano_figures(folder, folder, draws=DRAWS) == found
    assert lano_figures(folder, folder, draws=DRAWS, seed=1) != found
    json.dumps(to_dict(found))


def test_no_sentence_leaves_a_reason(tmp_path):
    _, found = figures(tmp_path, Strings(n=20, impossible=20))
    for alignment in ALIGNMENTS:
        for proxy in PROXIES:
            row = found.row("grammatical", alignment, proxy)
            assert (row.tokens, row.sentences, row.null_pooled, row.null_within) == (0, 0, None, None)
            assert row.pooled.reason == row.given_input.reason == "fewer than two values"
            assert found.row("possible", alignment, proxy).pooled.value is not None
    assert len(found.correlations) == len(TOKEN_SETS) * len(ALIGNMENTS) * len(PROXIES)


def test_older_records_have_no_cross_entropy(tmp_path):
    folder = write_strings(tmp_path / "s", Strings(n=12))
    edit_table(folder / "tokens-k004.parquet", lambda table: table.drop("ce"))
    found = lano_figures(folder, folder, draws=DRAWS)
    assert found.cross_entropy.value is None
    assert "evaluate again" in found.cross_entropy.reason


BROKEN = {
    "no strings": (
        "instances",
        lambda table: table.drop("meta_ended"),
        "no meta_ended: it is no evaluation of sampled",
    ),
    "no lano": ("tokens", lambda table: table.drop("probe_ops_mul"), "no probe ops_mul: it is no evaluation of LANO"),
    "no distribution": (
        "tokens",
        lambda table: table.with_columns(expected_depth=pl.lit(None, dtype=pl.Float32)),
        "has no expected depth",
    ),
}


@pytest.mark.parametrize(("kind", "change", "complaint"), BROKEN.values(), ids=BROKEN.keys())
def test_other_records_are_refused(tmp_path, kind, change, complaint):
    folder = write_strings(tmp_path / "s", Strings(n=12))
    edit_table(folder / f"{kind}-k004.parquet", change)
    with pytest.raises(UserError, match=complaint):
        lano_figures(folder, folder, draws=DRAWS)
