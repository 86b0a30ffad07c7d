"""W&B and trackio, without a network: what they wrote is read again."""

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.extras.tracked import trackio_artifacts, trackio_rows, wandb_sessions
from tests.support.processes import finish

if find_spec("wandb") is None or find_spec("trackio") is None:
    pytest.skip("needs wandb and trackio, which are not installed", allow_module_level=True)
pytestmark = [pytest.mark.extras, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
LIMIT_S = 900.0  # a film takes ten seconds of a processor
PATIENT = """
import sys
from selfplay.__main__ import main
from selfplay.run import films
films.LAST_S = 800.0
sys.exit(main())
"""
COLUMNS = ["rank", "player", "rating", "low", "high", "games", "wins", "losses", "draws"]
TABLE = "rating/leaderboard"


def train(folder, *arguments, **environment):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB_", "TRACKIO_"))}
    env |= {
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]), "HOME": str(folder),
        "XDG_CACHE_HOME": str(Path.home() / ".cache"), "WANDB_MODE": "offline", "TRACKIO_DIR": str(folder / "trackio"),
    }  # fmt: skip
    words = ["train", "--checkpoint", "run", "--preset", "none", "--report-to", "wandb,trackio", *arguments]
    return finish([sys.executable, "-c", PATIENT, *words], cwd=folder, env=env | environment, limit_s=LIMIT_S)


def trained(folder, *arguments):
    done = train(folder, *arguments)
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-2000:]
    assert "Tracker" not in done.stdout, done.stdout[-2000:]
    return done.stdout


def curve(rows, tag="losses/entropy"):
    return [(row["total_steps"], row[tag]) for row in rows if tag in row]


def test_both_have_curves_table_and_policy_and_go_on_after_a_resumption(tmp_path):
    kuhn = ["--num-games", "8", "--track-elo", "--save-interval", "2"]
    out = trained(tmp_path, "--game-type", "kuhn", "--timesteps", "4096", *kuhn)
    assert "W&B: " in out
    assert "trackio show --project selfplay" in out
    assert not (tmp_path / "run" / "events").exists()
    assert not (tmp_path / "run" / "metrics.jsonl").exists()
    trained(tmp_path, "--resume", "--timesteps", "8192")
    steps = [1024 * (i + 1) for i in range(8)]
    first, second = wandb_sessions(tmp_path)
    identity = json.loads((tmp_path / "run" / "run.json").read_text())["run_id"]
    assert first.id == second.id == identity
    assert [step for step, _ in curve(first.rows)] == steps[:4]
    assert [step for step, _ in curve(second.rows)] == steps[4:]
    assert first.config["game"] == {"type": "kuhn"}
    (rows,) = trackio_rows(tmp_path).values()
    assert curve(rows) == curve([*first.rows, *second.rows])
    tables = [row for session in (first, second) for row in session.rows if f"{TABLE}/path" in row]
    told = json.loads((second.folder / "files" / tables[-1][f"{TABLE}/path"]).read_text())
    assert told["columns"] == COLUMNS
    players = {row[1] for row in told["data"]}
    assert {"gen_8", "random"} <= players
    newest = [row[TABLE]["_value"] for row in rows if TABLE in row][-1]
    assert [list(row.values()) for row in newest] == told["data"]
    files = {"MANIFEST.json", "params.safetensors", "policy.json"}
    assert second.artifacts[f"policy-{identity}"] == files
    ((name, manifest),) = trackio_artifacts(tmp_path).items()
    assert name == f"policy-run-{identity}"
    assert all(file in str(manifest) for file in files)


def test_both_have_a_film_of_a_fight(tmp_path):
    trained(tmp_path, "--game-type", "mock", "--num-games", "8", "--timesteps", "1024", "--save-interval", "5")
    (film,) = (tmp_path / "run" / "films").iterdir()
    picture = film.read_bytes()
    assert picture.startswith(b"GIF89a")
    (session,) = wandb_sessions(tmp_path)
    (row,) = (row for row in session.rows if "film/path" in row)
    assert row["total_steps"] == 1024
    assert (session.folder / "files" / row["film/path"]).read_bytes() == picture
    (rows,) = trackio_rows(tmp_path).values()
    (shown,) = (row["film"] for row in rows if "film" in row)
    assert shown["_type"] == "trackio.video"
    (copy,) = (tmp_path / "trackio" / "media").rglob("*.gif")
    assert copy.read_bytes() == picture


def test_a_text_game_reports_the_same_way(tmp_path):
    pytest.importorskip("transformers", reason="needs transformers, which is not installed")
    game = ["--game-type", "kuhn_text", "--start-tokens", "0", "--evaluation-states", "0", "--games", "32"]
    trained(tmp_path, *game, "--num-games", "16", "--games-per-state", "4", "--track-elo")
    (session,) = wandb_sessions(tmp_path)
    (rows,) = trackio_rows(tmp_path).values()
    assert len(curve(rows, "play/reward")) == 2
    assert curve(rows, "play/reward") == curve(session.rows, "play/reward")
    assert any(f"{TABLE}/path" in row for row in session.rows)
    (files,) = (files for name, files in session.artifacts.items() if name.startswith("policy-"))
    assert {"model.safetensors", "tokenizer.json", "selfplay.json"} <= files


def test_w_and_b_without_a_login_is_refused_before_there_is_a_folder(tmp_path):
    done = train(tmp_path, "--game-type", "kuhn", "--timesteps", "1024", WANDB_MODE="online")
    assert done.returncode == 2
    assert "W&B has no API key: log in with wandb login, or WANDB_MODE=offline keeps" in done.stderr
    nowhere = {"WANDB_BASE_URL": "http://127.0.0.1:9", "WANDB_API_KEY": "a" * 40}
    done = train(tmp_path, "--game-type", "kuhn", "--timesteps", "1024", WANDB_MODE="online", **nowhere)
    assert done.returncode == 2
    assert "--report-to wandb: W&B cannot log in (WANDB_MODE=offline keeps the records here): " in done.stderr
    assert not (tmp_path / "run").exists()
