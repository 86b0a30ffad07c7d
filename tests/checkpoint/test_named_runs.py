import os

import pytest

from selfplay.checkpoint.run_dir import RUN_FILE, named_run, runs_under
from selfplay.errors import NotARunError


def make(root, name, written_at, ledger_at=None):
    run = root / name
    run.mkdir(parents=True)
    for file, moment in (("run.json", written_at), ("ledger.jsonl", ledger_at)):
        if moment is not None:
            (run / file).write_text("{}")
            os.utime(run / file, (moment, moment))
    return run


def test_the_newest_run_is_the_one_written_to_last(tmp_path):
    first = make(tmp_path, "first", 1000, ledger_at=9000)
    second = make(tmp_path, "second", 2000)
    (tmp_path / "no_run").mkdir()
    assert runs_under(tmp_path) == [first, second]
    assert named_run(None, root=tmp_path) == first


def test_a_run_is_found_by_path_or_name(tmp_path, monkeypatch):
    run = make(tmp_path / "checkpoints", "mine", 1000)
    assert named_run(str(run), root=tmp_path) == run
    assert named_run("mine", root=tmp_path / "checkpoints") == run
    monkeypatch.chdir(tmp_path)
    assert named_run("checkpoints/mine", root=tmp_path / "elsewhere").resolve() == run


def test_folders_of_other_kinds_are_found_where_they_are_asked_for(tmp_path):
    run = make(tmp_path, "mine", 1000)
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "policy.json").touch()
    files = (RUN_FILE, "policy.json")
    assert named_run("policy", files, root=tmp_path) == tmp_path / "policy"
    assert named_run("mine", files, root=tmp_path) == named_run(None, files, root=tmp_path) == run
    with pytest.raises(NotARunError, match=r"no run\.json in it"):
        named_run("policy", root=tmp_path)
    with pytest.raises(NotARunError, match=r"no run\.json or policy\.json in it"):
        named_run("yours", files, root=tmp_path)


def test_what_is_no_run_is_named_with_those_that_are(tmp_path):
    make(tmp_path, "mine", 1000)
    with pytest.raises(NotARunError, match=r"yours holds no run.*runs under .*: mine"):
        named_run("yours", root=tmp_path)
    with pytest.raises(NotARunError, match="no run under"):
        named_run(None, root=tmp_path / "empty")
