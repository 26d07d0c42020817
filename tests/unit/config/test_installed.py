from anira.config.installed import installed


def install(folder, name):
    """Make a folder on the search path of what a package manager installs there."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[anira.tasks]\n{name} = {name}:Task\n")


def test_a_package_on_a_new_search_path_is_found(tmp_path, monkeypatch):
    assert "counting" not in installed("anira.tasks").names
    install(tmp_path, "counting")
    monkeypatch.syspath_prepend(tmp_path)
    (found,) = installed("anira.tasks").select(name="counting")
    assert found.value == "counting:Task"
    assert "counting" not in installed("anira.policies").names
