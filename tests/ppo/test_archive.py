import numpy as np
import pytest

from selfplay.checkpoint import RunDir, learner_state, save_learner, write_learner
from selfplay.errors import CorruptError
from selfplay.ppo.archive import Archive
from tests.checkpoint.samples import learner_meta, policy_meta


def frozen(archive, name, value):
    number = int(name.rsplit("_", 1)[1])
    return archive.save(policy_meta(id=name, iteration=number), {"w": np.full(3, value, np.float32)})


def test_equal_weights_are_kept_once(tmp_path):
    archive = Archive(RunDir(tmp_path), 10)
    assert frozen(archive, "gen_0", 0.0) == "gen_0"
    assert frozen(archive, "gen_10", 0.0) == "gen_0"
    assert frozen(archive, "main_exploiter_10", 0.0) == "gen_0"
    assert frozen(archive, "main_exploiter_20", 1.0) == "main_exploiter_20"
    assert (archive.generations, archive.exploiters) == (["gen_0"], ["main_exploiter_20"])
    assert not archive.path("gen_10").exists()
    again = Archive(RunDir(tmp_path), 10)
    again.restore(archive.generations, archive.state())
    assert frozen(again, "gen_30", 1.0) == "main_exploiter_20"


def test_who_leaves_is_deleted_only_later(tmp_path):
    archive = Archive(RunDir(tmp_path), 4)
    for i in range(8):
        frozen(archive, f"gen_{i}", float(i))
    assert archive.is_full
    gone = archive.prune({}, keep={"gen_3"})
    assert len(archive.generations) == 4
    assert {"gen_0", "gen_3", "gen_7"} <= set(archive.generations)
    assert all(archive.path(name).exists() for name in gone), "an older state may still name them"
    save_learner(RunDir(tmp_path), learner_meta(9, generations=(gone[0],), extra={"exploiters": [gone[1]]}), {})
    archive.sweep()
    assert [archive.path(name).exists() for name in gone] == [True, True, False, False]
    assert archive.state()["leaving"] == gone[:2]
    for i in (10, 11):
        save_learner(RunDir(tmp_path), learner_meta(i, generations=tuple(archive.generations)), {})
    archive.sweep()
    assert not any(archive.path(name).exists() for name in gone)
    assert archive.state()["leaving"] == []
    archive.sweep()  # again, as after a crash


def test_a_state_is_asked_only_once_whom_it_goes_on_with(tmp_path, monkeypatch):
    run, archive, read = RunDir(tmp_path), Archive(RunDir(tmp_path), 4), []
    for i in range(8):
        frozen(archive, f"gen_{i}", float(i))
    gone = archive.prune({}, keep=())
    original = learner_state.read_meta
    monkeypatch.setattr(learner_state, "read_meta", lambda folder: read.append(folder.path.name) or original(folder))
    for i in range(3):
        write_learner(run, learner_meta(i, generations=(gone[i],)), {})
        archive.sweep()
    assert read == ["iter_0", "iter_1", "iter_2"]
    assert [archive.path(name).exists() for name in gone] == [True, False, False, False]
    write_learner(run, learner_meta(0, generations=()), {})  # in the place of the first
    archive.sweep()
    assert read[3:] == ["iter_0"]
    assert not archive.path(gone[0]).exists()


def test_whoever_is_gone_from_the_disk_is_gone_from_the_pool(tmp_path):
    archive = Archive(RunDir(tmp_path), 4)
    frozen(archive, "gen_0", 0.0)
    archive.restore(["gen_0", "gen_5"], {"exploiters": ["main_exploiter_5"]})
    assert (archive.generations, archive.exploiters) == (["gen_0"], [])


def test_everybody_has_a_place_of_its_kind(tmp_path):
    archive, run = Archive(RunDir(tmp_path), 4), RunDir(tmp_path)
    assert archive.path("gen_3").parent == run.generations
    assert archive.path("league_exploiter_3").parent == run.exploiters
    assert archive.path("external.other.gen_3").parent == run.external_opponents


@pytest.mark.parametrize("name", ["/etc", "../victim", "gen_0/../../victim", "..", ".", "", "gen_0\n", "a" * 200])
@pytest.mark.parametrize("field", ["leaving", "exploiters", "generations"])
def test_a_state_of_a_stranger_names_nothing_outside_of_the_run(tmp_path, name, field):
    (tmp_path / "victim").mkdir()
    run = RunDir(tmp_path / "run")
    archive = Archive(run, 4)
    frozen(archive, "gen_0", 0.0)
    generations = ["gen_0", name] if field == "generations" else ["gen_0"]
    with pytest.raises(CorruptError, match="is no name of a policy of a run"):
        archive.restore(generations, {field: [name]})
    archive.sweep()
    assert (tmp_path / "victim").is_dir()
    assert archive.path("gen_0").is_dir()


@pytest.mark.parametrize("file", ["policy.json", "params.safetensors", "MANIFEST.json"])
def test_whoever_is_damaged_is_left_out_and_told_of(tmp_path, file):
    archive = Archive(RunDir(tmp_path), 4)
    for i in range(3):
        frozen(archive, f"gen_{i}", float(i))
    path = archive.path("gen_1") / file
    path.write_bytes(path.read_bytes()[:-9] + b"x" * 9)
    (damaged,) = archive.restore(["gen_0", "gen_1", "gen_2"], {})
    assert str(archive.path("gen_1")) in damaged
    assert archive.generations == ["gen_0", "gen_2"]
    assert not archive.has(["gen_0", "gen_1"])
    with pytest.raises(CorruptError, match="no generation of the state can be used"):
        archive.restore(["gen_1"], {})
