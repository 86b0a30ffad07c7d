import numpy as np

from selfplay.checkpoint import RunDir, save_learner
from selfplay.trainer.archive import Archive
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
    gone = archive.thin({}, keep={"gen_3"})
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


def test_whoever_is_gone_from_the_disk_is_gone_from_the_pool(tmp_path):
    archive = Archive(RunDir(tmp_path), 4)
    frozen(archive, "gen_0", 0.0)
    archive.restore(["gen_0", "gen_5"], {"exploiters": ["main_exploiter_5"]})
    assert (archive.generations, archive.exploiters) == (["gen_0"], [])


def test_everybody_has_a_place_of_its_kind(tmp_path):
    archive, run = Archive(RunDir(tmp_path), 4), RunDir(tmp_path)
    assert archive.path("gen_3").parent == run.generations
    assert archive.path("league_exploiter_3").parent == run.exploiters
    assert archive.path("guest.other.gen_3").parent == run.guests
