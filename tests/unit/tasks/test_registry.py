from importlib.metadata import EntryPoint, EntryPoints

import pytest

import anira
from anira.config import UserError
from anira.tasks import registry
from anira.tasks.depo import Depo, DepoConfig
from anira.tasks.mano import Mano, ManoConfig

BUILT_IN = ["mano", "brevo", "depo", "lano", "clrs", "words", "wordmath"]


class Other(Mano):
    name = "other"


class Another(Mano):
    name = "other"


class Shadow(Mano):
    name = "mano"


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})


def install(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Pretend that an installed package declares an entry point."""
    points = EntryPoints([EntryPoint(name=name, value=value, group="anira.tasks")])
    monkeypatch.setattr(registry, "installed", lambda group: points.select(group=group))


def test_built_in_tasks_come_first_and_can_be_made() -> None:
    assert registry.task_names() == BUILT_IN
    for name in BUILT_IN:
        assert registry.make_task(name).name == name
        assert registry.task_class(name).name == name


def test_a_task_is_made_with_its_config_or_with_its_defaults() -> None:
    assert registry.make_task("mano").config == ManoConfig()
    config = DepoConfig(max_nodes=9)
    task = registry.make_task("depo", config)
    assert isinstance(task, Depo)
    assert task.config is config


def test_a_task_is_made_with_some_of_its_options() -> None:
    assert registry.make_task("mano", {"modulus": 7}).config == ManoConfig(modulus=7)
    assert registry.make_task("mano", {"operators": ["+"]}).config == ManoConfig(operators=("+",))
    with pytest.raises(UserError, match="unknown key 'modulo' in ManoConfig: did you mean 'modulus'"):
        registry.make_task("mano", {"modulo": 7})


def test_a_registered_task_is_found() -> None:
    assert registry.register_task(Other) is Other
    assert "other" in registry.task_names()
    assert isinstance(registry.make_task("other"), Other)


def test_registering_the_same_class_twice_is_no_error() -> None:
    registry.register_task(Other)
    registry.register_task(Other)
    assert registry.task_names().count("other") == 1


@pytest.mark.parametrize("cls", [Another, Shadow])
def test_a_name_is_given_once(cls: type[Mano]) -> None:
    registry.register_task(Other)
    with pytest.raises(UserError, match=f"a task named '{cls.name}' is already registered; choose another name"):
        registry.register_task(cls)
    assert isinstance(registry.make_task("other"), Other)
    assert type(registry.make_task("mano")) is Mano


def test_an_installed_package_brings_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "theirs", "anira.tasks.depo:Depo")
    assert registry.task_names() == [*BUILT_IN, "theirs"]
    assert isinstance(registry.make_task("theirs"), Depo)


def test_an_installed_package_cannot_replace_a_built_in_task(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "mano", "anira.tasks.depo:Depo")
    assert registry.task_names() == BUILT_IN
    assert isinstance(registry.make_task("mano"), Mano)


def test_an_unknown_task_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(UserError, match="unknown task 'mono': did you mean 'mano'"):
        registry.make_task("mono")
    with pytest.raises(UserError, match="a task from outside must be imported first: --plugin"):
        registry.make_task("mine")
    with pytest.raises(UserError, match=r"unknown task 'xyz': known: .*brevo, clrs, depo.*mano"):
        registry.task_class("xyz")


def test_the_package_shows_the_same_functions() -> None:
    assert anira.make_task is registry.make_task
    assert anira.register_task is registry.register_task
