"""Games from outside through the whole trainer: train, resume, rate, evaluate, exploit."""

import json
import re

import numpy as np
import pytest

from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.checkpoint.generations import read_policy_meta
from selfplay.cli.ppo import parse
from selfplay.commands.exploit import exploit
from selfplay.commands.export import described
from selfplay.commands.leaderboard_page import write_run
from selfplay.errors import ConfigError
from selfplay.evaluation.evaluate import evaluate
from selfplay.evaluation.players import contenders, home_rules
from selfplay.games import registry
from selfplay.games.errors import GameError
from selfplay.games.plugins import allow
from selfplay.league.leaderboard import analyse
from selfplay.league.ledger import read_games
from selfplay.league.modes import MODES
from selfplay.policy.policy import load_policy
from tests.run.runs import assert_equal_runs, rows, train
from tests.support.cases import first_alone

MELEE = re.compile(
    "(?i)stock|stage|character|ledge(?!r)|slippi|dolphin|percent|fox|frame.skip|delay"
    '|(?<!"gate": )(?<!memory_at_start": )"none"'
)
TIC_TAC_TOE = "selfplay.examples.tic_tac_toe:TicTacToe"
NIM, DUEL, UNCOUNTED = (f"tests.games.games:{name}" for name in ("Nim", "Duel", "Uncounted"))
DUELS, CLIMBS = (f"tests.games.vector_environments:{name}" for name in ("Duels", "next_step"))
SMALL = ("--num-games", 8, "--rollout-length", 16, "--hidden", "16", "--batch-size", "64", "--save-interval", 2)
ITERATION = 8 * 16


@pytest.mark.parametrize(("game", "host"), [(NIM, "process"), (DUEL, "thread")])
def test_a_resumed_run_equals_one_that_was_not_stopped(tmp_path, game, host):
    flags = ("--game-type", game, "--deterministic", "--host", host, "--runners", "2", "--mode", "simple_mix")
    assert train(tmp_path / "whole", *flags, "--timesteps", 8 * ITERATION, size=SMALL)[0] == 0
    assert train(tmp_path / "parts", *flags, "--timesteps", 5 * ITERATION, size=SMALL)[0] == 0
    assert train(tmp_path / "parts", "--timesteps", 8 * ITERATION, "--game-type", game, resume=True)[0] == 0
    learner = load_latest_learner(RunDir(tmp_path / "parts"))
    assert any(array.any() for name, array in learner.arrays.items() if name.endswith("/history"))
    assert_equal_runs(tmp_path / "whole", tmp_path / "parts", generations=[f"gen_{i}" for i in range(0, 9, 2)])


STAKES = "tests.commands.test_check_game:Stakes"


def test_a_game_of_payoffs_is_trained_and_judged_by_them(tmp_path):
    flags = ("--game-type", STAKES, "--mode", "pfsp", "--timesteps", 3 * ITERATION)
    _, shown = train(tmp_path / "run", *flags, size=SMALL)
    assert shown.count("Played for points (payoffs of -2 to 2 in random play): ratings and evaluations use") == 1
    state = load_latest_learner(RunDir(tmp_path / "run")).meta.matchmaker
    assert "random" in state["results"]["squares"]
    assert state["results"]["points"] == {}
    tags = {tag for row in rows(tmp_path / "run" / "metrics.jsonl") for tag in row}
    assert {"payoff/random", "winrate/random"} <= tags


TEAM = "tests.commands.test_check_game:Team"


@pytest.mark.parametrize("game", [TIC_TAC_TOE, "tests.commands.test_check_game:Declared", TEAM])
def test_of_other_games_nothing_is_told(tmp_path, game):
    flags = ("--game-type", game, "--mode", "simple_mix", "--timesteps", ITERATION)
    _, shown = train(tmp_path / "run", *flags, size=SMALL)
    assert "Played for" not in shown
    tags = {tag for row in rows(tmp_path / "run" / "metrics.jsonl") for tag in row}
    assert any(tag.startswith("payoff/") for tag in tags) == (game != TIC_TAC_TOE)
    assert ("reward/common_gain" in tags) == (game != TEAM)


def test_a_run_of_a_game_without_fights_has_no_word_of_melee(tmp_path, capsys):
    size, folder = ("--num-games", 8, "--rollout-length", 16, "--hidden", "16"), tmp_path / "run"
    _, shown = train(folder, "--game-type", TIC_TAC_TOE, "--timesteps", 2 * ITERATION, "--track-elo", size=size)
    with pytest.raises(SystemExit):
        parse(["--game-type", TIC_TAC_TOE, "--help"])
    write_run(folder, analyse(read_games(folder / "ledger.jsonl")), folder / "page.html", lambda text: None)
    files = [path for path in folder.rglob("*") if path.suffix in (".json", ".jsonl", ".txt")]
    assert {path.name for path in files} >= {"run.json", "policy.json", "learner.json", "summary.json", "log.txt"}
    texts = {str(path.relative_to(folder)): path.read_text() for path in files}
    texts |= {"help": capsys.readouterr().out, "shown": shown}
    texts |= {"page": re.sub(r"(?s)<(script|style).*?</\1>", "", (folder / "page.html").read_text())}
    texts |= {"export": json.dumps(described(load_policy(folder)))}
    found = {(name, word) for name, text in texts.items() for word in MELEE.findall(text)}
    assert not found
    assert read_policy_meta(folder / "generations" / "gen_2").body == {}


@pytest.mark.parametrize("game", [UNCOUNTED, DUELS, CLIMBS])
def test_games_that_do_not_repeat_themselves_begin_anew_and_the_header_says_so(tmp_path, game):
    flags = ("--game-type", game, "--timesteps", ITERATION, "--mode", "simple_mix")
    _, shown = train(tmp_path / "run", *flags, size=SMALL)
    assert "Resume: games in progress begin anew" in " ".join(shown.split())
    code, shown = train(tmp_path / "run", "--timesteps", 2 * ITERATION, "--game-type", game, resume=True)
    assert code == 0
    assert "began anew" in shown


@pytest.mark.parametrize(("game", "host", "least"), first_alone([(DUELS, "thread", 0.2), (CLIMBS, "process", 0.6)]))
def test_seats_of_a_vector_environment_are_trained_rated_and_evaluated(tmp_path, game, host, least):
    flags = ("--game-type", game, "--host", host, "--mode", "simple_mix", "--learning-rate", 0.003)
    flags += ("--track-elo", "--rating-share", "1", "--timesteps", 30 * ITERATION, "--save-interval", "10")
    code, shown = train(tmp_path / "run", *flags, size=SMALL)
    assert code == 0
    assert "random (bot)" in shown
    pair, named = contenders((str(tmp_path / "run"), "random"), game)
    found = evaluate(*pair, 200, home_rules(pair, named))
    assert found.games == 200
    assert found.score > least


def test_steps_that_only_begin_a_game_are_no_experiences(tmp_path):
    flags = ("--game-type", CLIMBS, "--timesteps", 2 * ITERATION, "--mode", "latest")
    train(tmp_path / "run", *flags, size=SMALL)
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [row["charts/experiences"] for row in rows] == [2 * ITERATION * 3 / 4] * 2  # each fourth step begins one


def test_a_run_does_not_name_its_own_code(tmp_path, monkeypatch):
    train(tmp_path / "run", "--game-type", NIM, "--timesteps", ITERATION, size=SMALL)
    monkeypatch.setattr("selfplay.games.plugins._allowed", set())
    registry._described.cache_clear()
    with pytest.raises(GameError, match=f"add --game-type {NIM}"):
        train(tmp_path / "run", "--timesteps", 2 * ITERATION, resume=True)
    with pytest.raises(ConfigError, match="cannot change within a run"):
        train(tmp_path / "run", "--timesteps", 2 * ITERATION, "--game-type", DUEL, resume=True)


def test_generations_are_rated_evaluated_and_exploited(tmp_path):
    run = tmp_path / "run"
    flags = ("--game-type", NIM, "--timesteps", 60 * ITERATION, "--track-elo", "--rating-share", "1")
    code, shown = train(run, *flags, "--save-interval", "20", size=SMALL)
    assert code == 0
    assert "random (bot)" in shown
    assert f"--game-type={NIM}" in shown  # of the command that resumes
    rows = [json.loads(line) for line in (run / "ledger.jsonl").read_text().splitlines()]
    assert {seat["player"] for row in rows for seat in row["seats"]} >= {"random", "gen_0"}
    meta = read_policy_meta(run / "generations" / "gen_60")
    assert meta.encoder_version == 1
    allow(NIM)
    pair, game = contenders((str(run), "random"), NIM)
    found = evaluate(*pair, 60, home_rules(pair, game))
    assert found.games == 60
    assert found.wins + found.losses == 60
    assert found.figures == {}
    best = exploit(run, 4 * ITERATION, tmp_path / "exploiters", ("scratch",), (0,), 10)
    assert 0 <= best.score <= 1


def test_decisions_alone_are_experiences(tmp_path):
    train(tmp_path / "run", "--game-type", NIM, "--timesteps", 2 * ITERATION, size=SMALL)
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    for row in rows:  # one seat decides in each step; the last decision of each game is not learned from
        assert 0.8 * ITERATION < row["charts/experiences"] <= ITERATION - 8
    assert np.isfinite(rows[-1]["losses/total"])


@pytest.mark.parametrize("mode", sorted(set(MODES) - {"opponents"}))
def test_every_mode_trains(tmp_path, mode):
    flags = ("--game-type", NIM, "--timesteps", 5 * ITERATION, "--mode", mode)
    code, _ = train(tmp_path / "run", *flags, *(("--runners", 4) if mode == "league" else ()), size=SMALL)
    assert code == 0
    met = set()
    for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines():
        met |= {name for name in json.loads(line) if name.startswith("opponents/")}
    assert met
