"""The table of LANO from records: its values, its two alignments, its sets of tokens, its nulls and controls."""

import numpy as np
import polars as pl
import pytest
from scipy import stats
from tests.sealing_support import edit_table
from tests.unit.measure.lano_support import Strings, write_strings, write_untrained

from anira.config import UserError
from anira.measure.lano import ALIGNMENTS, PROXIES, lano_rows, subset
from anira.measure.tidy import find, make_table

DRAWS = 200


def measured(folder, untrained=None, draws=DRAWS, seed=0):
    return make_table(lano_rows(folder, folder, untrained, floor=0.4, draws=draws, seed=seed))


def planted(tmp_path, plan=None, name="s"):
    folder = write_strings(tmp_path / name, plan or Strings())
    return folder, measured(folder)


def correlations(table, token_set="grammatical", alignment="predicts", proxy="ops_mul"):
    """Pooled, given the position, given the last token, within strings."""
    names = ("work", "work_given_position", "work_given_token", "work_within")
    return [find(table, name, subset=subset(token_set, alignment, proxy)) for name in names]


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


def test_values_agree_with_scipy(tmp_path):
    folder, table = planted(tmp_path, Strings(effect=0.2, reading_effect=-0.1, impossible=10))
    sets = {
        "grammatical": lambda i, size: 0 if i < 10 else size,
        "possible": lambda i, size: size // 2 if i < 10 else size,
    }
    for token_set, kept in sets.items():
        for shift, alignment in enumerate(ALIGNMENTS):
            strings = [pair for pair in by_hand(folder, shift, kept) if len(pair[0])]
            pooled, _, _, within = correlations(table, token_set, alignment)
            proxy, depth = (np.concatenate(column) for column in zip(*strings, strict=True))
            assert pooled["n"] == len(proxy)
            assert find(table, "strings", subset=token_set)["value"] == len(strings)
            assert pooled["value"] == pytest.approx(stats.spearmanr(proxy, depth).statistic)
            assert within["value"] == pytest.approx(np.mean([stats.spearmanr(*pair).statistic for pair in strings]))


def test_an_effect_is_found_in_its_own_alignment_only(tmp_path):
    _, ahead = planted(tmp_path, Strings(effect=0.3), "ahead")
    _, behind = planted(tmp_path, Strings(reading_effect=0.3), "behind")
    for proxy in PROXIES:
        for table, own, other in ((ahead, "predicts", "reads"), (behind, "reads", "predicts")):
            rows = correlations(table, alignment=own, proxy=proxy)
            assert all(row["low"] > 0 for row in rows)
            assert rows[-1]["value"] > rows[-1]["null_high"] > 0 > rows[-1]["null_low"]
            shuffled = find(table, "work_shuffled", subset=subset("grammatical", own, proxy))
            assert shuffled["null_low"] < 0 < shuffled["null_high"]
            assert abs(correlations(table, alignment=other, proxy=proxy)[0]["value"]) < 0.1


def test_without_an_effect_nineteen_of_twenty_intervals_hold_zero(tmp_path, monkeypatch):
    monkeypatch.setattr("anira.measure.lano.PROXIES", {"ops_add": "additions"})  # one is enough
    held = np.zeros(4)
    for draw in range(20):
        _, table = planted(tmp_path, Strings(n=40, draw=draw), str(draw))
        held += [row["low"] < 0 < row["high"] for row in correlations(table, proxy="ops_add")]
    assert (held >= 16).all()  # each of the four fails this by chance once in 300 times


def test_what_the_last_token_makes_is_gone_when_it_is_held_fixed(tmp_path):
    _, table = planted(tmp_path, Strings(token_effect=2.0, n=150))
    pooled, _, given_token, within = correlations(table)
    assert pooled["value"] > 0.5
    assert within["value"] > within["null_high"]  # nothing else tells: it is not noise
    assert given_token["low"] < 0 < given_token["high"]


def test_what_the_position_makes_is_gone_when_it_is_held_fixed(tmp_path):
    _, table = planted(tmp_path, Strings(position_effect=2.0, n=150))
    pooled, given_position, *_ = correlations(table)
    assert pooled["value"] > 0.9
    assert abs(given_position["value"]) < 0.2


def test_rates_depth_and_cross_entropy(tmp_path):
    folder, table = planted(tmp_path, Strings(impossible=15))
    instances, tokens = (pl.read_parquet(folder / f"{kind}-k004.parquet") for kind in ("instances", "tokens"))
    sentences = find(table, "sentences")
    assert (sentences["n"], sentences["value"], find(table, "ended")["value"]) == (60, 0.75, 1)
    assert sentences["low"] < 0.75 < sentences["high"]
    possible = find(table, "possible_tokens")
    assert possible["value"] == instances["meta_possible_tokens"].sum() / instances["meta_tokens"].sum()
    entropy = find(table, "cross_entropy")
    assert entropy["value"] == pytest.approx(tokens["ce"].mean(), rel=1e-6)
    assert entropy["low"] < entropy["value"] < entropy["high"]
    predicting = tokens.filter(pl.col("probe_ops_mul").is_not_null())
    depth = find(table, "expected_depth", subset="written")
    assert depth["value"] == pytest.approx(predicting["expected_depth"].mean(), rel=1e-5, abs=1e-6)
    assert (depth["variant"], depth["seed"], depth["step"]) == ("anira-e", 0, 100)


def test_untrained_models_are_correlated_on_the_same_tokens(tmp_path):
    folder = write_strings(tmp_path / "s", Strings(impossible=10))
    depths = write_untrained(tmp_path / "depths.parquet", folder, [0.3, 0.0])
    table = measured(folder, depths, draws=10)
    tokens = pl.read_parquet(folder / "tokens-k004.parquet").join(
        pl.read_parquet(depths), on=["instance_id", "position"], how="left", maintain_order="left"
    )
    kept = tokens.filter(pl.col("probe_ops_mul").is_not_null() & (pl.col("instance_id") >= 10))
    values = [stats.spearmanr(kept["probe_ops_mul"], kept[f"untrained_{i}"]).statistic for i in (0, 1)]
    pooled, _, given_token, _ = correlations(table)
    assert (pooled["null_low"], pooled["null_high"]) == pytest.approx((values[1], values[0]))
    assert abs(given_token["null_low"]) < 0.1
    assert given_token["null_high"] > 0.5
    assert abs(correlations(table, alignment="reads")[0]["null_high"]) < 0.1
    without = measured(folder, draws=10)
    assert table.select("value", "low").equals(without.select("value", "low")), "they change nothing else"


def test_depths_of_other_strings_are_refused(tmp_path):
    folder, other = (write_strings(tmp_path / str(n), Strings(n=n)) for n in (20, 10))
    depths = write_untrained(tmp_path / "depths.parquet", other, [0.0])
    with pytest.raises(UserError, match="lacks depths of tokens"):
        measured(folder, depths, draws=10)


def test_intervals_cluster_by_string(tmp_path):
    """Strings differ in how depth follows the proxy: as independent tokens they would seem to agree."""
    rng = np.random.default_rng(0)
    folder = write_strings(tmp_path / "one", Strings(effect=0.1, n=40))
    path = folder / "tokens-k004.parquet"
    tokens = pl.read_parquet(path)
    sign = pl.Series(rng.choice([-1.0, 1.0], size=40)).gather(tokens["instance_id"])
    depth = (500 + sign * tokens["probe_ops_mul"].fill_null(0)).cast(pl.Float32)
    edit_table(path, lambda table: table.with_columns(expected_depth=depth))
    pooled = correlations(measured(folder))[0]
    assert (pooled["high"] - pooled["low"]) / 2 > 2 * 1.96 / np.sqrt(pooled["n"])


def test_equal_seeds_give_equal_rows(tmp_path):
    folder, table = planted(tmp_path)
    assert measured(folder).equals(table)
    assert not measured(folder, seed=1).equals(table)


def test_no_sentence_leaves_a_reason(tmp_path):
    _, table = planted(tmp_path, Strings(n=20, impossible=20))
    for alignment in ALIGNMENTS:
        for proxy in PROXIES:
            pooled, _, given_token, within = correlations(table, alignment=alignment, proxy=proxy)
            assert (pooled["n"], within["null_low"]) == (0, None)
            shuffled = find(table, "work_shuffled", subset=pooled["subset"])
            assert pooled["reason"] == given_token["reason"] == shuffled["reason"] == "fewer than two values"
            assert correlations(table, "possible", alignment, proxy)[0]["value"] is not None


def test_older_records_have_no_cross_entropy(tmp_path):
    folder = write_strings(tmp_path / "s", Strings(n=12))
    edit_table(folder / "tokens-k004.parquet", lambda table: table.drop("ce"))
    row = find(measured(folder), "cross_entropy")
    assert row["value"] is None
    assert "evaluate again" in row["reason"]


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
        measured(folder)
