"""Small games through the whole trainer: what they share with fights, and what they have no use for."""

import json
import sys

import numpy as np
import pytest

from selfplay.checkpoint import RunDir, list_generations
from selfplay.commands.cli import evaluate, leaderboard, rate
from selfplay.commands.exploit import exploit
from selfplay.config.ppo import Config
from selfplay.errors import ConfigError
from selfplay.evaluation.exact import strategy
from selfplay.games.api import ActionSpec, StepBatch
from selfplay.games.kind import GameKind
from selfplay.games.rated import RatedGame, ScriptedPlayer
from selfplay.games.registry import find_game, games_of
from selfplay.games.solved import SOLVED
from selfplay.games.solved.enumeration import find_tree
from selfplay.games.splitmix import words
from selfplay.league.ledger import read_games
from selfplay.policy.played_game import game_of
from selfplay.policy.policy import load_policy
from selfplay.ppo.rating import config_of
from selfplay.report.health import MIN_ITERATIONS, Health
from selfplay_melee.commands.policies import load_fighter
from selfplay_melee.commands.watch import fixture
from selfplay_melee.policy_opponent import load_opponent
from tests.report.make import report
from tests.run.runs import assert_equal_runs, rows
from tests.run.runs import train as train_fight
from tests.support.kinds import bring

SMALL = (
    *("--num-games", 8, "--rollout-length", 16, "--hidden", "8", "--ppo-epochs", 2, "--batch-size", 64),
    *("--set", "run.threads=1", "--save-interval", 2),
)
ITERATION = 8 * 16
RATED = ("--mode", "simple_mix", "--set", "league.scripted=2", "--track-elo", "--rating-share", 1)


def train(folder, game, *arguments, resume=False):
    return train_fight(folder, "--game-type", game, *SMALL, *arguments, resume=resume, size=())


@pytest.fixture(scope="module")
def kuhn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "kuhn"
    code, text = train(folder, "kuhn", "--timesteps", 6 * ITERATION, "--deterministic", *RATED)
    assert code == 0
    return folder, text


@pytest.mark.parametrize("name", SOLVED)
def test_every_small_game_trains(tmp_path, name):
    assert train(tmp_path / name, name, "--timesteps", 2 * ITERATION)[0] == 0
    policy = load_policy(tmp_path / name)
    assert game_of(policy.meta) == name
    assert (policy.meta.network.obs_width, policy.meta.actions.sizes) == (
        find_game(name).obs_width,
        find_game(name).actions.sizes,
    )
    assert (policy.body.frame_skip, policy.body.delay, policy.meta.body) == (1, 0, {})


def test_reports_say_what_there_is_and_nothing_of_stocks(kuhn):
    folder, text = kuhn
    metrics = rows(folder / "metrics.jsonl")
    assert len(metrics) == 6
    assert all(row["reward/payoff"] == pytest.approx(row["play/return_mean"]) for row in metrics)
    assert all(2 <= row["play/episode_length"] <= 3 for row in metrics)
    assert not any("stock" in name or "damage" in name or "destruct" in name for row in metrics for name in row)
    for word in ("stock", "stage", "character", "frame_skip", "selfplay watch", "Compil"):
        assert word not in text
    assert "Game type: kuhn" in text
    json.loads((folder / "summary.json").read_text())


def test_scripted_players_are_met_in_training_and_rated(kuhn):
    folder, text = kuhn
    assert config_of(RunDir(folder)).league.held_out == ()
    met = {key.removeprefix("opponents/") for row in rows(folder / "metrics.jsonl") for key in row}
    assert {"random", "always_bet", "equilibrium"} <= met
    assert {"gen_0", "gen_6", "random"} <= set(read_games(folder / "ledger.jsonl").players)
    assert "Leaderboard ═══" in text
    assert "selfplay evaluate" in text


def test_players_held_out_are_rated_and_not_met(tmp_path):
    folder = tmp_path / "run"
    arguments = ("--timesteps", 3 * ITERATION, *RATED, "--held-out", "equilibrium,random", "--gate", "sprt")
    assert train(folder, "kuhn", *arguments)[0] == 0
    met = {key.removeprefix("opponents/") for row in rows(folder / "metrics.jsonl") for key in row}
    assert met & {"random", "always_bet", "equilibrium"} == {"always_bet"}
    assert (folder / "best.json").exists()
    with pytest.raises(ConfigError, match=r"--held-out always_bt: unknown, did you mean always_bet\?"):
        train(tmp_path / "other", "kuhn", "--held-out", "random,always_bt")


class Higher:
    """Both seats name a number at once, and the higher one wins."""

    num_seats, obs_width, legal, outsider = 2, 1, None, None
    actions = ActionSpec(binary=0, sizes=(3,), rest=(-1,))
    bot_names = ("random", "highest")
    stats_dtype = np.dtype([("frames", "i4"), ("reward_points", "f8")])

    def __init__(self, num_games):
        self.num_games = num_games
        self.bots = np.full((num_games, 2), -1, np.int8)
        self.notes = []
        self._seeds, self._episode = np.zeros(num_games, np.uint64), np.zeros(num_games, np.uint64)
        self._obs = np.ones((num_games, 2, 1), np.float32)

    def reset(self, seeds):
        self._seeds[:], self._episode[:] = seeds, 0
        return self._obs

    def step(self, actions, acts=None):
        drawn = words(words(self._seeds, self._episode)[:, None], np.arange(2, dtype=np.uint64)) % np.uint64(3)
        chosen = np.select([self.bots == 0, self.bots == 1], [drawn.astype(int), 2], actions[..., 0].astype(int))
        reward = np.sign(chosen - chosen[:, ::-1]).astype(np.float32)
        stats = np.zeros((self.num_games, 2), self.stats_dtype)
        stats["frames"], stats["reward_points"] = 1, reward
        self._episode += np.uint64(1)
        over = np.ones(self.num_games, bool)
        return StepBatch(self._obs, reward, over, ~over, self._obs, (reward + 1) / 2, stats)

    def snapshot(self):
        return {"seeds": self._seeds.copy(), "episode": self._episode.copy()}

    def restore(self, arrays):
        self._seeds[:], self._episode[:] = arrays["seeds"], arrays["episode"]
        return self._obs

    def kill(self):
        return False

    def close(self):
        pass


HIGHER = GameKind(
    make=Higher,
    obs_width=Higher.obs_width,
    actions=Higher.actions,
    encoder_version=1,
    ladder=Higher.bot_names,
    rated=RatedGame({name: ScriptedPlayer("1") for name in Higher.bot_names}, {"game": "higher"}),
    starts_at_once=lambda: True,
)


@pytest.mark.parametrize("name", ["kuhn", "mixup", "higher"])
def test_an_entry_gives_a_game_opponents_ratings_and_evaluation(name, tmp_path, monkeypatch, capsys):
    bring(monkeypatch, "higher", HIGHER)

    def said(verb, *arguments):
        monkeypatch.setattr(sys, "argv", [f"selfplay {verb.__name__.rpartition('.')[2]}", *map(str, arguments)])
        assert verb.main() == 0
        return capsys.readouterr().out

    folder, ladder = tmp_path / name, find_game(name).ladder
    # Of one host: on a slow machine, games in Python would run in processes, which do not know "higher".
    code, text = train(folder, name, "--timesteps", 4 * ITERATION, *RATED, "--host", "thread")
    assert (code, "Leaderboard ═══" in text) == (0, True)
    met = {key.removeprefix("opponents/") for row in rows(folder / "metrics.jsonl") for key in row}
    assert set(ladder) <= met

    assert "80 games played" in said(rate, folder, "--budget", "80")
    assert set(read_games(folder / "ledger.jsonl").players) == {"gen_0", "gen_2", "gen_4", *ladder}
    said(rate, folder, "--calibrate", "--games", "4")
    page = tmp_path / "page.html"
    board = said(leaderboard, folder, "--all")
    said(leaderboard, folder, "--html", page)
    for player in ladder:
        assert f"| {player} (bot) " in board
        assert f'data-v="{player}"' in page.read_text()

    exploiters = exploit(folder, ITERATION, tmp_path / "exploiters", seeds=(0,), games=4)
    assert ([attempt.start for attempt in exploiters.attempts], exploiters.games) == (["scratch", "victim"], 8)
    assert config_of(RunDir(tmp_path / "exploiters" / "scratch_0")).game.type == name

    first = str(folder / "generations" / "gen_0")
    for players in ((first, str(folder)), ("random", ladder[-1], "--game-type", name)):
        told = said(evaluate, *players, "--games", "10")
        assert f"10 games of {name}" in told
        found = json.loads(said(evaluate, *players, "--games", "10", "--json"))
        assert (found["games"], found["wins"] + found["losses"] + found["draws"]) == (10, 10)
        for word in ("stock", "damage", "second", "mewtwo", "final_destination"):
            assert word not in told + board
            assert not any(word in key for key in found)


def test_a_resumed_run_equals_an_uninterrupted_one_in_either_host(kuhn, tmp_path):
    folder = tmp_path / "run"
    arguments = ("--timesteps", 4 * ITERATION, "--deterministic", *RATED)
    assert train(folder, "kuhn", *arguments, "--host", "process")[0] == 0
    with pytest.raises(ConfigError, match="--game-type is rps, but the run"):
        train_fight(folder, "--game-type", "rps", resume=True)
    with pytest.raises(ConfigError, match="--headless goes with --game-type dolphin; --game-type kuhn"):
        train_fight(folder, "--headless", resume=True)
    assert train_fight(folder, "--timesteps", 6 * ITERATION, "--host", "thread", resume=True)[0] == 0
    assert_equal_runs(kuhn[0], folder, generations=["gen_0", "gen_2", "gen_4", "gen_6"])


def test_policies_are_asked_in_every_information_set_and_choose_what_is_legal_alone(kuhn):
    tree = find_tree("kuhn")
    played = strategy(tree, load_policy(kuhn[0]))
    assert ((played > 0) & (played <= 1)).all()
    for seat in (0, 1):
        chances = np.unique(np.stack([tree.last[seat], played[seat]])[:, tree.acts[seat]], axis=1)[1]
        assert chances.sum() == pytest.approx(len(tree.seats[seat].obs))  # those of each information set sum to one


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (("--character", "fox"), "--character"),
        (("--stage", "battlefield"), "--stage"),
        (("--frame-skip", 1), "--frame-skip"),
        (("--delay", 0), "--delay"),
        (("--set", "reward.stock=1"), "--set reward.stock"),
    ],
)
def test_settings_of_fights_are_refused_by_name(tmp_path, arguments, flag):
    with pytest.raises(ConfigError, match=f"^{flag} goes with --game-type mock or dolphin; --game-type kuhn") as caught:
        train(tmp_path / "run", "kuhn", *arguments)
    assert caught.value.exit_code == 2
    assert not (tmp_path / "run").exists()


def test_what_only_fights_can_do_is_refused(kuhn):
    folder, _ = kuhn
    for refused in (lambda: fixture(folder, []), lambda: load_opponent(folder), lambda: load_fighter(folder)):
        with pytest.raises(ConfigError, match="plays kuhn; a policy of a fighting game is needed here") as caught:
            refused()
        assert caught.value.exit_code == 2


def test_a_policy_starts_runs_of_its_own_game_only(kuhn, tmp_path):
    parent = list_generations(RunDir(kuhn[0]))[-1].path
    assert train(tmp_path / "pupil", "kuhn", "--pretrained", parent, "--timesteps", ITERATION)[0] == 0
    for game in ("rps", "mock"):
        with pytest.raises(ConfigError, match=f"plays kuhn, not {game}"):
            train(tmp_path / "other", game, "--pretrained", parent)
        with pytest.raises(ConfigError, match=f"--opponent .* plays kuhn, not {game}"):
            train(tmp_path / "other", game, "--opponent", parent)


def test_health_of_small_games_does_not_ask_for_exploration():
    one = report()
    sure = one.model_copy(update={"update": one.update.model_copy(update={"entropy": 0.1, "approx_kl": 9.0})})
    found = {}
    for fights in (True, False):
        health = Health(find_game("mock" if fights else "kuhn").health())
        for i in range(MIN_ITERATIONS):
            health.observe({"iteration": i + 1, **sure.flat()})
        found[fights] = {finding.name for finding in health.findings()}
    assert found[True] - found[False] == {"entropy_collapse"}
    assert "stale_data" in found[False]


def test_every_game_can_be_configured():
    for name in games_of("ppo"):
        assert Config.model_validate({"game": {"type": name}}).game.type == name
