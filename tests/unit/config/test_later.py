"""Fields that were added after configurations had been stored."""

from dataclasses import dataclass

import pytest

from anira.config import UserError, config_hash, from_dict, later
from anira.config.strict import stored_values


@dataclass(frozen=True, kw_only=True)
class Settings:
    steps: int = 3
    schedule: str = later("constant")


@dataclass(frozen=True, kw_only=True)
class Before:
    steps: int = 3


def test_what_was_stored_before_is_read_and_keeps_its_hash():
    assert from_dict(Settings, {"steps": 3}) == Settings()
    assert stored_values(Settings()) == {"steps": 3}
    assert config_hash(Settings()) == config_hash(Before())


def test_another_value_is_stored_and_has_a_hash_of_its_own():
    changed = Settings(schedule="linear")
    assert from_dict(Settings, stored_values(changed)) == changed
    assert config_hash(changed) != config_hash(Settings())


def test_other_fields_must_still_be_there():
    with pytest.raises(UserError, match="missing key 'steps'"):
        from_dict(Settings, {"schedule": "linear"})
