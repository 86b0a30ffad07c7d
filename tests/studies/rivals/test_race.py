"""A race makes the cells that are missing, from what systems had at each mark."""

import json
from statistics import median

import numpy as np
import pytest

from envs.melee import bots
from scripts.studies import ROOT
from scripts.studies.cells import Cells
from scripts.studies.rivals import race, race_page
from scripts.studies.rivals.jobs import session_of, write_first_weights
from scripts.studies.rivals.programs.job import Job
from scripts.studies.rivals.race import COMMAND, Race, kept, snapshot, strength, way_of
from scripts.studies.rivals.running import Way
from scripts.studies.rivals.venvs import PEERS, PeerError
from selfplay.checkpoint import load_generation
from selfplay.config.fighting_cli import parse
from selfplay.errors import ConfigError
from selfplay.policy.policy import load_policy


def test_our_command_is_the_configuration_that_peers_get():
    typed = parse(COMMAND.format(games=256, seed=3).split()).config
    ours = session_of(256, 3).config
    assert (typed.game, typed.reward, typed.net, typed.ppo) == (ours.game, ours.reward, ours.net, ours.ppo)
    assert (typed.run.num_games, typed.run.seed) == (ours.run.num_games, ours.run.seed)
    assert (typed.league, typed.guard) == (ours.league, ours.guard)


def measured(path, *rows):
    names = ("system", "seats", "games", "threads", "variant", "error", "agent_steps_per_s")
    path.write_text(json.dumps({"rows": [dict(zip(names, row, strict=True)) for row in rows]}))
    return path


def test_a_peer_races_as_it_was_fastest(tmp_path):
    path = measured(
        tmp_path / "peers.json",
        ("cleanrl", 1, 256, 1, "", None, [3.0, 3.0]),
        ("cleanrl", 2, 256, 2, "plain", None, [3.0, 3.0]),
        ("cleanrl", 2, 4, 1, "", None, [8.0]),
        ("rllib", 2, 256, 1, "", None, [1.0]),
    )
    assert way_of("cleanrl", path) == Way(2, "plain")


def test_the_two_fastest_peers_of_the_page_race():
    rows = json.loads((ROOT / "docs" / "data" / "peers.json").read_text())["rows"]
    both = [row for row in rows if (row["seats"], row["games"]) == (2, race.GAMES) and row["system"] in PEERS]
    fastest = sorted(both, key=lambda row: -median(row["agent_steps_per_s"]))
    assert [row["system"] for row in fastest[:2]] == list(race.RACERS)


def test_a_snapshot_is_a_policy_that_plays(tmp_path):
    meta = write_first_weights(session_of(2, 3), tmp_path / "first.npz")
    snapshot(tmp_path, "cleanrl", 0.5, meta)
    with np.load(tmp_path / "first.npz", allow_pickle=False) as file:
        params = {name: file[name] + 1.0 for name in file.files}
    np.savez(tmp_path / "latest.npz", **params)
    snapshot(tmp_path, "cleanrl", 1.0, meta)
    early, late = (load_policy(kept(tmp_path, minutes)) for minutes in (0.5, 1.0))
    assert (early.meta.id, late.meta.id) == ("cleanrl-0.5", "cleanrl-1")
    difference = late.network.out.bias.detach() - early.network.out.bias.detach()
    np.testing.assert_allclose(difference.numpy(), 1.0, atol=1e-6)
    (tmp_path / "latest.npz").write_bytes(b"torn")
    with pytest.raises(PeerError, match="cleanrl left no weights"):
        snapshot(tmp_path, "cleanrl", 2.0, meta)


@pytest.fixture
def small(monkeypatch):
    for name, value in (("GAMES", 2), ("EVALUATION_GAMES", 2), ("MARKS", (0.5, 1.0))):
        monkeypatch.setattr(race, name, value)


def test_only_missing_cells_are_made(small, tmp_path, monkeypatch):
    trained = []

    def turns(entries, folder, *, turn, marks, at_mark):
        trained.append([entry.name for entry in entries])
        job = Job(**json.loads(entries[-1].words[-1]))
        assert (job.games, job.seats, job.threads, job.seed) == (2, 2, 2, 3)
        for mark in marks:
            for entry in entries:
                at_mark(entry.name, mark)

    monkeypatch.setattr(race, "take_turns", turns)
    monkeypatch.setattr(race, "prepared", lambda peer, venvs: venvs / peer.name / "bin" / "python")
    monkeypatch.setattr(race, "strength", lambda policy: {"score": float(len(load_generation(policy)[1]))})
    cells = Cells(tmp_path / "out.json")
    cells.write("selfplay-3", {})
    racing = Race(cells, {"cleanrl": Way(2)}, tmp_path / "venvs", lambda _: None)
    racing.run(3)
    (cell,) = cells.read(["cleanrl-3"])
    assert [point["minutes"] for point in cell["points"]] == [0.5, 1.0]
    assert (cell["way"], cell["release"]) == ({"threads": 2, "variant": ""}, " ".join(PEERS["cleanrl"].packages))
    racing.run(3)
    assert trained == [["cleanrl"]]
    cells.remove("selfplay-3")
    cells.remove("cleanrl-3")
    racing.run(3)
    assert trained == [["cleanrl"], ["selfplay", "cleanrl"]]


def test_strength_is_the_mean_score(small, tmp_path):
    meta = write_first_weights(session_of(2), tmp_path / "first.npz")
    rules = meta.config["game"] | {"max_episode_frames": 40}
    snapshot(tmp_path, "selfplay", 1.0, meta.model_copy(update={"config": meta.config | {"game": rules}}))
    found = strength(kept(tmp_path, 1.0))
    assert found["score"] == pytest.approx(np.mean(list(found["scores"].values())))
    assert tuple(found["scores"]) == bots.LADDER


def cell(system, seed, *scores):
    points = [{"minutes": float(i + 1), "score": score} for i, score in enumerate(scores)]
    return {"system": system, "seed": seed, "points": points}


def test_the_page_says_when_ours_was_as_strong(tmp_path):
    path = tmp_path / "data" / "race.json"
    cells = [
        cell("selfplay", 0, 0.2, 0.6),
        cell("cleanrl", 0, 0.1, 0.4),
        cell("selfplay", 1, 0.1, 0.2),
        cell("cleanrl", 1, 0.1, 0.3),
    ]
    for each in cells:
        Cells(path).write(f"{each['system']}-{each['seed']}", each)
    (tmp_path / "performance.md").write_text("<!-- race: begin -->\n<!-- race: end -->\n")
    race_page.write(tmp_path)
    text = (tmp_path / "performance.md").read_text()
    assert "| cleanrl | 0 | 0.400 | 2 | 1.5 |" in text
    assert "| cleanrl | 1 | 0.300 | 2 | not reached |" in text
    assert text.index("| selfplay | 1 |") < text.index("| cleanrl | 0 |")
    picture = (tmp_path / "data" / "race.svg").read_text()
    assert all(f">{text}<" in picture for text in ("selfplay", "cleanrl", "minutes of training"))


def test_a_page_without_cells(tmp_path):
    with pytest.raises(ConfigError, match="no finished cells"):
        race_page.write(tmp_path)


@pytest.mark.parametrize(("score", "minutes"), [(0.1, 1.0), (0.25, 1.5), (0.4, 2.5), (0.9, None)])
def test_when_a_curve_reaches_a_score(score, minutes):
    points = cell("selfplay", 0, 0.2, 0.3, 0.5)["points"]
    found = race_page.reached(points, score)
    assert found is None if minutes is None else found == pytest.approx(minutes)
