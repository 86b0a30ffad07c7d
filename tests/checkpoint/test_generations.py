"""Generations are immutable, ordered, verified, and never run code."""

import numpy as np
import pytest

from selfplay.checkpoint import (
    RunDir,
    list_generations,
    load_generation,
    save_policy,
    set_aside_newer,
    weights_hash,
)
from selfplay.checkpoint.documents import encode_json, to_document
from selfplay.checkpoint.generations import read_policy_meta
from selfplay.errors import CheckpointError, CorruptError, ImmutableError, IncompatibleError, NotARunError
from tests.checkpoint.samples import (
    Crash,
    crash_at,
    files_of,
    forge,
    full_disk,
    params,
    policy_meta,
    same,
    save_generation,
)
from tests.support.fakes import LFS_POINTER


@pytest.fixture
def run(tmp_path):
    return RunDir(tmp_path / "run")


def test_a_generation_comes_back(run):
    path = save_generation(run, policy_meta(120), params())
    assert path == run.generations / "gen_120"
    meta, arrays = load_generation(path)
    assert meta == policy_meta(120, weights_hash=weights_hash(params()))
    assert same(arrays, params())
    assert read_policy_meta(path) == meta


def test_the_hash_is_of_names_types_shapes_and_bytes():
    base = params()
    known = weights_hash(base)
    assert weights_hash(dict(reversed(base.items()))) == known
    assert weights_hash({name: array.copy(order="F") for name, array in base.items()}) == known
    assert weights_hash({name: array.astype(array.dtype.newbyteorder(">")) for name, array in base.items()}) == known
    weight = base["body.0.weight"]
    others = [
        {**base, "body.0.weight": weight.reshape(4, 3)},
        {**base, "body.0.weight": weight.view(np.int32)},
        {**base, "body.0.weight": weight + np.float32(1e-6)},
        {**base, "more": np.zeros(0)},
        {name.replace("bias", "gain"): array for name, array in base.items()},
        {name: array for name, array in base.items() if name != "steps"},
    ]
    assert len({known, *map(weights_hash, others)}) == len(others) + 1


def test_weights_are_plain_arrays():
    with pytest.raises(CheckpointError, match="a: weights must be plain arrays"):
        weights_hash({"a": np.zeros(2, [("x", "f4"), ("y", "f8")])})


def test_the_hash_is_the_same_for_ever():
    arrays = {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.array(True)}
    assert weights_hash(arrays) == "5e60893b94a9548e0ff587644d808640b3075c4ce80245fd5f1207d87bb72b81"


def test_saving_equal_weights_again_changes_nothing(run):
    path = save_generation(run, policy_meta(1), params())
    before = {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in files_of(path)}
    assert save_generation(run, policy_meta(1, total_steps=5), params()) == path
    assert {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in files_of(path)} == before


def test_saving_other_weights_is_refused(run):
    path = save_generation(run, policy_meta(1), params(1))
    with pytest.raises(ImmutableError, match="gen_1 holds other weights"):
        save_generation(run, policy_meta(1), params(2))
    assert same(load_generation(path)[1], params(1))


def test_a_damaged_generation_is_not_taken_for_a_saved_one(run):
    path = save_generation(run, policy_meta(1), params(1))
    (path / "params.safetensors").write_bytes(b"")
    with pytest.raises(CorruptError, match=r"params\.safetensors"):
        save_generation(run, policy_meta(1), params(1))


def test_weights_are_those_of_the_metadata(run):
    with pytest.raises(CheckpointError, match="is of other weights"):
        save_generation(run, policy_meta(3, weights_hash="0" * 64), params())


def test_any_folder_may_hold_a_policy(tmp_path):
    path = save_policy(tmp_path / "imitation", policy_meta(0, id="imitation", character="fox"), params())
    assert load_generation(path)[0].body["character"] == "fox"


def test_generations_are_listed_by_iteration(run):
    assert list_generations(run) == []
    for iteration in (10, 9, 100, 0):
        save_generation(run, policy_meta(iteration), params(iteration))
    for name in ("gen_x", "gen_07", "gen_-1", "other", "gen_5"):  # gen_5 has no manifest
        (run.generations / name).mkdir()
    (run.generations / "gen_6").symlink_to(run.generations / "gen_9")
    (run.generations / "gen_8").write_text("a file")
    found = list_generations(run)
    assert [generation.id for generation in found] == ["gen_0", "gen_9", "gen_10", "gen_100"]
    assert [generation.iteration for generation in found] == [0, 9, 10, 100]
    assert found[0].path == run.generations / "gen_0"


def test_a_crash_while_saving_is_invisible(run):
    save_generation(run, policy_meta(0), params(0))
    for step in range(100):
        try:
            with crash_at(step):
                save_generation(run, policy_meta(1), params(1))
        except Crash:
            for generation in list_generations(run):
                assert same(load_generation(generation.path)[1], params(generation.iteration))
            if len(list_generations(run)) == 2:
                break  # committed: only the flush of the parent was left
        else:
            pytest.fail("the crash must come before the end")
    assert step > 5


def test_a_full_disk_leaves_the_others_readable(run):
    save_generation(run, policy_meta(0), params(0))
    with full_disk("write", 1), pytest.raises(CheckpointError, match="No space left"):
        save_generation(run, policy_meta(1), params(1))
    assert [generation.id for generation in list_generations(run)] == ["gen_0"]
    assert sorted(path.name for path in run.generations.iterdir()) == ["gen_0"]
    save_generation(run, policy_meta(1), params(1))


def test_every_damaged_byte_is_noticed(run):
    path = save_generation(run, policy_meta(1), params())
    for file in files_of(path):
        data = file.read_bytes()
        for position in range(0, len(data), 7):
            file.write_bytes(data[:position] + bytes([data[position] ^ 0x04]) + data[position + 1 :])
            with pytest.raises(CheckpointError, match="gen_1"):
                load_generation(path)
        for size in (0, 1, len(data) // 2, len(data) - 2):
            file.write_bytes(data[:size])
            with pytest.raises(CheckpointError, match="gen_1"):
                load_generation(path)
        file.write_bytes(data)
    load_generation(path)


def test_missing_folders_and_files_are_named(run):
    with pytest.raises(NotARunError, match="gen_9: no such folder"):
        load_generation(run.generations / "gen_9")
    path = save_generation(run, policy_meta(1), params())
    (path / "policy.json").unlink()
    with pytest.raises(CorruptError, match=r"policy\.json"):
        load_generation(path)


@pytest.mark.parametrize("name", ["params.safetensors", "policy.json", "MANIFEST.json"])
def test_pointers_of_git_lfs_are_told(run, name):
    path = save_generation(run, policy_meta(1), params())
    (path / name).write_bytes(LFS_POINTER)
    with pytest.raises(CorruptError, match=rf"{name} is a Git LFS pointer .* `git lfs pull`"):
        load_generation(path)


def test_weights_must_be_those_of_the_metadata(run):
    path = save_generation(run, policy_meta(1), params(1))
    other = save_generation(run, policy_meta(2), params(2))
    forge(path, params__safetensors=(other / "params.safetensors").read_bytes())
    with pytest.raises(CorruptError, match="do not have the hash"):
        load_generation(path)
    forge(path, policy__json=encode_json(to_document(policy_meta(1)), "x"))  # without any hash
    with pytest.raises(CorruptError, match="do not have the hash"):
        load_generation(path)


class Bomb:
    def __reduce__(self):
        return (open, (self.target, "w"))


def test_a_pickle_is_refused_and_not_run(run, tmp_path):
    import pickle

    bomb = Bomb()
    bomb.target = str(tmp_path / "exploded")
    path = save_generation(run, policy_meta(1), params(1))
    for name in ("params__safetensors", "policy__json"):
        forge(path, **{name: pickle.dumps(bomb)})
        with pytest.raises(CorruptError, match="gen_1"):
            load_generation(path)
    assert not (tmp_path / "exploded").exists()


def test_documents_of_strangers_are_refused(run):
    path = save_generation(run, policy_meta(1), params(1))
    good = to_document(policy_meta(1, weights_hash=weights_hash(params(1))))
    forge(path, policy__json=encode_json(good | {"loader": "os.system"}, "x"))
    with pytest.raises(IncompatibleError, match=r"policy\.json: loader"):
        load_generation(path)
    forge(path, policy__json=encode_json(good | {"format_version": 99}, "x"))
    with pytest.raises(IncompatibleError, match="newer selfplay"):
        load_generation(path)


def test_generations_of_an_abandoned_future_are_kept_apart(run):
    for iteration in (0, 10, 20, 30):
        save_generation(run, policy_meta(iteration), params(iteration))
    assert [path.name for path in set_aside_newer(run, 10)] == ["gen_20-1", "gen_30-1"]
    assert [generation.iteration for generation in list_generations(run)] == [0, 10]
    save_generation(run, policy_meta(20), params(99))
    (moved,) = set_aside_newer(run, 10)
    assert moved.name == "gen_20-2"
    assert same(load_generation(moved)[1], params(99))
    assert same(load_generation(moved.with_name("gen_20-1"))[1], params(20))
    assert set_aside_newer(run, 10) == []


def test_a_policy_takes_the_place_of_another_only_when_asked(tmp_path):
    path = tmp_path / "policy"
    save_policy(path, policy_meta(120), params())
    other = {**params(), "more": np.ones(2)}
    with pytest.raises(ImmutableError):
        save_policy(path, policy_meta(120), other)
    save_policy(path, policy_meta(130), other, replace=True)
    meta, arrays = load_generation(path)
    assert meta.iteration == 130
    assert same(arrays, other)


def test_no_policy_takes_the_place_of_what_is_none(tmp_path):
    path = tmp_path / "policy"
    path.mkdir()
    (path / "thesis.txt").write_text("ten years")
    with pytest.raises(ImmutableError, match="is not a policy"):
        save_policy(path, policy_meta(120), params(), replace=True)
    assert (path / "thesis.txt").read_text() == "ten years"
