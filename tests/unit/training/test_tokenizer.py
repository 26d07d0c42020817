import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from anira.config import UserError
from anira.tasks import make_task, task_names
from anira.training.tokenizer import save_tokenizer


@pytest.fixture
def task_and_tokenizer(request, tmp_path):
    """A task with rows of one kind, and the tokenizer that its checkpoints have."""
    task = make_task(request.param).parts()[0]
    save_tokenizer(tmp_path, task.vocab)
    return task, AutoTokenizer.from_pretrained(tmp_path)


every_task = pytest.mark.parametrize("task_and_tokenizer", task_names(), indirect=True)


@every_task
def test_a_checkpoints_tokenizer_reads_and_writes_as_the_task_does(task_and_tokenizer):
    task, tokenizer = task_and_tokenizer
    rows = task.rows(seed=0, stream="eval", start=0, count=20)
    assert len(tokenizer) == len(task.vocab)
    for i in range(20):
        text = task.vocab.decode(rows.ids(i))
        assert tokenizer.encode(text, add_special_tokens=False) == rows.ids(i)
        assert tokenizer.decode(rows.ids(i), clean_up_tokenization_spaces=False) == text


@every_task
def test_a_question_is_read_as_the_row_begins(task_and_tokenizer):
    """With the `<bos>` that nobody types."""
    task, tokenizer = task_and_tokenizer
    rows = task.rows(seed=0, stream="eval", start=0, count=20, knob=task.knob.seen[0])
    for i in range(20):
        ids = rows.ids(i)
        for end in (rows.answer_positions(i)[0], len(ids)):
            assert tokenizer(task.vocab.decode(ids[1:end]))["input_ids"] == ids[:end]


@every_task
def test_an_unknown_word_is_named(task_and_tokenizer):
    task, tokenizer = task_and_tokenizer
    known = task.vocab.tokens[-1]
    for text in (f"{known} \u00a7", [known, f"{known} \u00a7"]):
        with pytest.raises(UserError, match="unknown token '\u00a7'"):
            tokenizer(text)


@every_task
def test_batches_are_padded_on_the_left(task_and_tokenizer):
    task, tokenizer = task_and_tokenizer
    long, short = task.vocab.decode([len(task.vocab) - 1] * 3), task.vocab.tokens[-1]
    batch = tokenizer([long, short], padding=True, add_special_tokens=False)
    assert batch["input_ids"][1][-1] == len(task.vocab) - 1
    assert batch["attention_mask"][1][0] == 0


def test_the_side_of_padding_is_known_without_this_package(tmp_path):
    save_tokenizer(tmp_path, make_task("mano").vocab)
    plain = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    assert type(plain) is PreTrainedTokenizerFast
    assert plain(["+ 1 3 <ans>", "1 <ans>"], padding=True)["input_ids"][1][0] == plain.pad_token_id
