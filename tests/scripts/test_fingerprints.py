import json

import numpy as np
from safetensors.numpy import save_file

from scripts.studies.fingerprints import differences, fingerprint, report


def make_run(folder, *, wall=1.0, weight=0.5, loss="loss", rows=2):
    generation, state = folder / "generations" / "gen_1", folder / "learner" / "iter_1"
    generation.mkdir(parents=True)
    state.mkdir(parents=True)
    save_file({"layer": np.full(3, weight, np.float32)}, generation / "params.safetensors")
    save_file({"layer": np.zeros(3, np.float32)}, state / "optimizer.safetensors")
    lines = [json.dumps({"iteration": i, loss: 0.25, "wall": wall, "time/update_s": wall}) for i in range(rows)]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "log.txt").write_text(str(wall))
    return fingerprint(folder)


def test_times_and_logs_do_not_count(tmp_path):
    assert make_run(tmp_path / "one") == make_run(tmp_path / "two", wall=2.0)


def test_a_changed_weight_is_found_in_its_category(tmp_path):
    one, other = make_run(tmp_path / "one"), make_run(tmp_path / "two", weight=0.75)
    assert one.keys() == {"weights", "optimizer", "metrics"}
    assert differences(one, other) == ["weights"]


def test_a_renamed_key_is_told_from_a_changed_value(tmp_path):
    one, other = make_run(tmp_path / "one"), make_run(tmp_path / "two", loss="losses/total")
    assert differences(one, other) == ["metrics (names or order only)"]


def test_missing_rows_and_categories_are_told(tmp_path):
    one, other = make_run(tmp_path / "one"), make_run(tmp_path / "two", rows=1)
    assert differences(one, other) == ["metrics (2 -> 1 rows)"]
    other.pop("weights")
    assert differences(one, other, ["weights"]) == ["weights (missing)"]


def test_only_the_last_state_of_training_counts(tmp_path):
    whole = make_run(tmp_path / "one")
    older = tmp_path / "one" / "learner" / "iter_0"
    older.mkdir()
    save_file({"layer": np.ones(3, np.float32)}, older / "optimizer.safetensors")
    assert fingerprint(tmp_path / "one") == whole


def test_a_report_counts_without_its_times():
    assert report(['{"elo": 1500, "seconds": 1}']) == report(['{"elo": 1500, "seconds": 2}'])
    assert report(['{"elo": 1500}']) != report(['{"elo": 1501}'])
