import pytest
from transformers import AutoTokenizer

from anira.tasks import make_task, task_names
from anira.training.tokenizer import save_tokenizer


@pytest.mark.parametrize("name", task_names())
def test_a_checkpoints_tokenizer_reads_and_writes_as_the_task_does(name, tmp_path):
    task = make_task(name)
    save_tokenizer(tmp_path, task.vocab)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    rows = task.rows(seed=0, stream="eval", start=0, count=20)
    assert len(tokenizer) == len(task.vocab)
    for i in range(20):
        text = task.vocab.decode(rows.ids(i))
        assert tokenizer.encode(text) == rows.ids(i)
        assert tokenizer.decode(rows.ids(i), clean_up_tokenization_spaces=False) == text
