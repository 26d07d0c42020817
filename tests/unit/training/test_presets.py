import dataclasses

import pytest

from anira.config import UserError, config_hash
from anira.models import AniraForCausalLM
from anira.tasks import register_task
from anira.tasks.mano import Mano
from anira.training.data import Batches
from anira.training.presets import preset, preset_names

VARIANTS = ("anira-e", "anira-o", "fixed", "unshared")
SETTINGS = ("words", "words-z6", "wordmath", "wordmath-final")  # of tasks that the paper does not have

# The paper's table of hyper-parameters, as it stands there.
#          D   heads d_model d_ff  maxlen batch LR    gamma  b
TABLE = {
    "mano": (14, 8, 256, 1664, 64, 512, 1e-4, 1e-1, 1.25),
    "brevo": (6, 8, 512, 2048, 256, 64, 1e-3, 1e-1, 2.0),
    "depo": (6, 8, 512, 2048, 256, 64, 3e-4, 1e-1, 2.0),
    "lano": (6, 8, 512, 2048, 512, 64, 1e-4, 1e-2, 1.0),
    "clrs": (6, 8, 512, 2048, 4096, 32, 1e-4, 1e-2, 2.0),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("task", TABLE)
def test_the_paper_scale_is_the_table_of_the_paper(task, variant):
    config = preset(f"{task}-{variant}-paper")
    model = config.make_model_config(config.make_task())
    depth, heads, width, inner, length, batch, rate, gamma, base = TABLE[task]
    assert (model.max_depth, model.num_attention_heads, model.hidden_size) == (depth, heads, width)
    assert (model.intermediate_size, config.max_length, config.batch_size) == (inner, length, batch)
    assert (model.num_prelude_layers, model.num_core_layers, model.num_coda_layers) == (1, 1, 1)
    assert (config.learning_rate, config.warmup_steps, config.steps) == (rate, 1000, 250_000)
    assert config.gamma_warmup_steps == 0
    assert model.max_position_embeddings == length
    assert model.shared_core == (variant != "unshared")
    assert model.policy["name"] == ("fixed" if variant == "unshared" else variant)
    if variant.startswith("anira"):
        assert (model.policy["gamma"], model.policy["base"]) == (gamma, base)


@pytest.mark.parametrize("task", TABLE)
def test_the_paper_scale_trains_the_task_as_the_paper_has_it(task):
    """Sizes 3..16, 3..30, up to 50 nodes with 4 hops, all of cfg3b, all of CLRS-Text: the tasks' own defaults."""
    built = preset(f"{task}-fixed-paper").make_task()
    assert built.config == type(built.config)()
    seen = {"mano": tuple(range(3, 17)), "brevo": tuple(range(3, 31)), "depo": (1, 2, 3, 4), "lano": (6,)}
    seen["clrs"] = (4, 5, 10, 11, 12, 15, 19, 23, 28, 31)
    assert built.knob.seen == seen[task]


def test_there_is_a_preset_for_every_task_variant_and_scale():
    expected = {f"{t}-{v}-{s}" for t in TABLE for v in VARIANTS for s in ("smoke", "cpu", "paper")}
    expected |= {f"{t}-{v}-{s}" for t in SETTINGS for v in VARIANTS for s in ("smoke", "cpu")}
    assert set(preset_names()) == expected


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_builds(name):
    config = preset(name).resolved()
    task = config.make_task()
    model = config.make_model_config(task)
    assert model.vocab_size == len(task.vocab)
    assert (config.preset, config.task, config.seed) == (name, name.partition("-")[0], 0)
    assert f"-{config.variant}-" in name
    rows = task.rows(seed=0, stream="train", start=0, count=4096)
    assert rows.lengths.max() <= config.max_length, "the longest rows do not fit"
    if not name.endswith("paper"):
        AniraForCausalLM(model)


def test_the_presets_of_words_differ_in_their_group_only():
    one, other = (preset(f"{name}-anira-o-cpu").resolved() for name in ("words", "words-z6"))
    assert (one.task, other.task, other.preset) == ("words", "words", "words-z6-anira-o-cpu")
    assert (one.task_config.pop("group"), other.task_config.pop("group")) == ("S3", "Z6")
    assert dataclasses.replace(one, preset=other.preset) == other
    rows = other.make_task().rows(seed=0, stream="train", start=0, count=100)
    assert rows.lengths.max() - rows.lengths.min() == one.max_offset  # all words have the same number of letters
    assert (one.schedule, one.model["policy"]["zero_start"]) == ("linear", True)


@pytest.mark.parametrize("task", ["mano", "brevo", "depo", *SETTINGS])
def test_cpu_presets_have_a_constant_price_and_a_falling_rate(task):
    """A warm-up of gamma lowers depth by itself, and a decider that starts at random decides before it has learned."""
    config = preset(f"{task}-anira-o-cpu").resolved()
    assert (config.schedule, config.gamma_warmup_steps) == ("linear", 0)
    assert (config.model["policy"]["gamma"], config.model["policy"]["zero_start"]) == (0.1, True)


@pytest.mark.parametrize("task", ["mano", "brevo"])
def test_in_cpu_presets_neither_place_nor_memory_tells_the_answer(task):
    """The end of a question stands at other places in rows of one size, and some questions are never trained on."""
    config = preset(f"{task}-anira-o-cpu")
    made = config.make_task()
    least = min(made.knob.seen)
    rows = made.rows(seed=0, stream="train", start=0, count=500, knob=least)
    plain = dataclasses.replace(config, max_offset=0, held_out=0.0).make_task()
    spread = plain.rows(seed=0, stream="train", start=0, count=500, knob=least).lengths
    assert rows.lengths.max() - rows.lengths.min() == config.max_offset + spread.max() - spread.min()
    assert not made.held_out(rows).any()
    assert made.held_out(made.rows(seed=0, stream="eval", start=0, count=500, knob=least)).any()


def test_clrs_at_cpu_scale_is_a_subset_that_two_cores_can_train():
    task = preset("clrs-anira-o-cpu").make_task()
    seen = {part.subtask: part.knob.seen for part in task.parts()}
    assert seen == {"minimum": (4, 5, 7, 10), "binary_search": (4, 5, 7, 10), "sort": (4, 5, 7), "bfs": (4, 5)}
    assert task.left_out == (("sort", 10), ("bfs", 7), ("bfs", 10))
    assert task.rows(seed=0, stream="train", start=0, count=1024).lengths.max() <= 108


@pytest.mark.parametrize(("parts", "most"), [(1, 7.0), (8, 1.5)])
def test_attention_of_the_parts_of_a_step_of_clrs_is_padded_little(parts, most):
    """Places over tokens at the paper's scale where attention is laid out: what the preset's accumulation is for."""
    config = dataclasses.replace(preset("clrs-fixed-paper"), accumulation=parts)
    assert preset("clrs-fixed-paper").accumulation == 8
    batches = Batches(config.make_task(), config, 0)
    made = [part for step in range(1, 25) for part in batches.step(step)]
    places = sum(len(part.lengths) * part.longest for part in made)
    share = places / sum(part.input_ids.numel() for part in made)
    assert most / 1.5 < share < most


def test_presets_differ_and_so_do_their_folders():
    hashes = [config_hash(preset(name)) for name in preset_names()]
    assert len(set(hashes)) == len(hashes)
    assert config_hash(preset("mano-fixed-cpu", seed=1)) != config_hash(preset("mano-fixed-cpu"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mano-anira-o-gpu", "-<smoke|cpu|paper>"),
        ("mno-anira-o-cpu", "did you mean 'mano'?"),
        ("mano-cpu", "presets of mano are mano-<"),
        ("mano", "mano-<anira-e|anira-o|fixed|unshared|policy>-<smoke|cpu|paper>"),
        ("", "a preset is <task>-<variant>-<scale>; tasks: known: "),
        ("mano-anira-x-cpu", "did you mean 'anira-o'?"),
        ("mano-shared-cpu", "unknown policy 'shared'"),
        ("words-anira-o-paper", "the paper has no setting for task 'words': use scale smoke or cpu"),
        ("words-z6", "words-z6-<anira-e|anira-o|fixed|unshared|policy>-<smoke|cpu>"),
    ],
)
def test_an_unknown_name_gets_a_hint(name, expected):
    with pytest.raises(UserError) as caught:
        preset(name)
    assert expected in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_task_from_outside_has_the_small_scales_only(monkeypatch):
    monkeypatch.setattr("anira.tasks.registry._registered", {})

    @register_task
    class Other(Mano):
        name = "from-outside"  # a name may have hyphens, as the variants do

    config = preset("from-outside-anira-o-smoke")
    assert (config.task, config.variant) == ("from-outside", "anira-o")
    assert isinstance(config.make_task(), Other)
    with pytest.raises(UserError, match="the paper has no setting for task 'from-outside'"):
        preset("from-outside-anira-o-paper")


def test_presets_do_not_share_what_can_change():
    changed = preset("mano-anira-o-cpu")
    changed.task_config["modulus"] = 7
    changed.model["policy"]["gamma"] = 9.0
    assert preset("mano-anira-o-cpu").task_config["modulus"] != 7
    assert preset("mano-anira-o-cpu").model["policy"]["gamma"] != 9.0
