import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from anira.models.masks import causal_mask, restrict

flags = st.lists(st.booleans(), min_size=1, max_size=7)


@settings(deadline=None)
@given(flags, st.data())
def test_a_query_sees_valid_tokens_up_to_itself(valid: list[bool], data: st.DataObject) -> None:
    columns = len(valid)
    queries = data.draw(st.integers(1, columns))
    mask = causal_mask(torch.tensor([valid]), queries)[0, 0]
    for i in range(queries):
        own = columns - queries + i
        assert mask[i].tolist() == [key == own or (key < own and valid[key]) for key in range(columns)]


@settings(deadline=None)
@given(flags, st.data())
def test_restriction_leaves_some_and_oneself(see: list[bool], data: st.DataObject) -> None:
    time = len(see)
    valid = data.draw(st.lists(st.booleans(), min_size=time, max_size=time))
    whole = causal_mask(torch.tensor([valid]), time)
    for mask in (None, whole):
        left = restrict(mask, torch.tensor([see]))[0, 0]
        before = torch.ones(time, time).tril().bool() if mask is None else whole[0, 0]
        expected = (before & torch.tensor(see)) | torch.eye(time, dtype=torch.bool)
        assert torch.equal(left, expected)


@pytest.mark.parametrize("time", [1, 4])
def test_no_query_is_left_with_nothing_to_see(time: int) -> None:
    nobody = torch.zeros(1, time, dtype=torch.bool)
    assert torch.equal(restrict(causal_mask(nobody, time), nobody)[0, 0], torch.eye(time, dtype=torch.bool))
