"""Runs whose games are played in real time, one an emulator: the trainer's side of them, on mock games."""

import itertools
import math
import signal
import threading
from pathlib import Path

import pytest

from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.cli.ppo import parse
from selfplay.commands.rate import MatchPlayer, match_player_of, rate_run
from selfplay.config.ppo import Config
from selfplay.config.resolve import with_defaults
from selfplay.errors import ConfigError, IncompatibleError, SelfPlayError
from selfplay.games.errors import GameError
from selfplay.league.ledger import read_records
from selfplay.policy.inference_batcher import InferenceBatcher
from selfplay.ppo.learner import Learner
from selfplay.ppo.rating import config_of, settings_of
from selfplay.ppo.session import Session
from selfplay.run.rating_games import RatingBudget
from selfplay.runner.block import Block
from selfplay.runner.work_queue import FIRST_TIMEOUT_S, LEAST_TIMEOUT_S, WorkQueue
from selfplay_melee import bots
from selfplay_melee.commands.policies import load_fighter
from selfplay_melee.commands.replay import FilmReplayer
from selfplay_melee.dolphin.host import DolphinHost, _rating_slots
from selfplay_melee.dolphin.roster import CPU
from selfplay_melee.rated import MELEE
from selfplay_melee.tables import CHARACTERS
from tests.ppo.live import EMULATOR, emulated
from tests.run.ends import before, signalled
from tests.run.runs import GAMES, ITERATION, STEPS, TINY, rows, train
from tests.support.processes import LIMIT_S

LIVE = (*TINY, "--game-type", "dolphin")

HOST = DolphinHost()


@pytest.fixture
def emulators(monkeypatch):
    return emulated(monkeypatch)


def live(*arguments):
    return parse(["--game-type", "dolphin", *(str(argument) for argument in arguments)]).config


def refusal(tmp_path, *arguments):
    with pytest.raises(ConfigError) as caught:
        train(tmp_path / "run", *arguments, size=LIVE)
    assert not (tmp_path / "run").exists()
    return str(caught.value)


def test_each_game_is_a_block_in_a_process(emulators):
    config = with_defaults(live("--num-games", 5))
    assert (config.run.host, config.run.runners) == ("process", 5)
    assert Session(config, RunDir(Path("run")), "cpu").blocks == {f"runner-{i:03d}": 1 for i in range(5)}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--host", "thread"), "--host thread: each game of --game-type dolphin is a process"),
        (("--runners", 3), "--runners 3: each game of --game-type dolphin has a runner of its own, 4 of them"),
        (("--deterministic",), "--deterministic: a game in real time cannot be repeated"),
        (("--num-games", 6, "--mode", "league"), "--num-games must be a multiple of 4; with 6 games it is 6"),
        (("--cpu-level", 3, "--human-port", 1), "--cpu-level and --human-port both want the other seat"),
        (("--human-port", 1), "--human-port: a person plays one game at a time, not 4: --num-games 1"),
        (("--human-port", 1, "--num-games", 1, "--headless"), "--human-port needs a window to play in"),
        (("--cpu-level", 3), "--mode simple_mix chooses opponents, but --cpu-level has the other seat"),
        (
            ("--cpu-level", 3, "--mode", "latest", "--opponent", "some/run"),
            "--opponent names opponents, but --cpu-level",
        ),
    ],
)
def test_what_they_cannot_do_is_refused(emulators, tmp_path, arguments, words):
    assert words in refusal(tmp_path, *arguments)


def test_what_they_do_anyway_may_be_said(emulators, tmp_path):
    once = ("--host", "process", "--runners", 4, "--timesteps", 1)
    assert train(tmp_path / "run", *once, size=LIVE)[0] == 0


def test_a_game_is_told_of_its_emulator(emulators):
    flags = ("--headless", "--set", "emulator.slippi_port=50000", "--cpu-level", 3, "--save-replays", "--track-elo")
    session = Session(with_defaults(live("--num-games", 3, *flags)), RunDir(Path("run")), "cpu")
    options = session.block_options("runner-002")
    assert (options["num_games"], options["slot"], options["slots"]) == (1, 2, 6)
    assert set(EMULATOR) - {"restarts"} <= options.keys()  # that is of rating games alone
    assert (options["headless"], options["slippi_port"], options["cpu_level"]) == (True, 50000, 3)
    assert (options["start_timeout_s"], options["frame_timeout_s"], options["recycle_mb"]) == (60.0, 30.0, 2000)
    assert options["replay_dir"].endswith("/run/replays")  # the process that writes them is started elsewhere
    assert options["replay_dir"].startswith("/")
    assert Session(with_defaults(live()), RunDir(Path("run")), "cpu").block_options("runner-000")["replay_dir"] is None


@pytest.mark.parametrize(
    ("flags", "who", "taken"),
    [(("--cpu-level", 7), "cpu_7", 1), (("--human-port", 1, "--num-games", 1), "human", 0)],
)
def test_the_learner_meets_whoever_has_the_other_seat(emulators, tmp_path, flags, who, taken):
    emulators.outsider = taken
    folder = tmp_path / "run"
    code, text = train(folder, "--mode", "latest", *flags, "--timesteps", 3 * ITERATION, size=LIVE)
    assert code == 0
    assert f"Opponents: {who}" in text
    last = rows(folder / "metrics.jsonl")[-1]
    met = {name.partition("/")[2] for name in last if name.startswith(("opponents/", "winrate/"))}
    assert met == {who}
    assert last["charts/experiences"] == len(emulators.games) * STEPS  # one seat of each
    assert load_latest_learner(RunDir(folder)).meta.matchmaker["met"]["id"].keys() == {who}


def test_scripted_players_of_training_are_ours(emulators):
    """The emulator's own are chosen in its menus, which is too early for whoever seats players."""
    session = Session(with_defaults(live("--held-out", "rusher")), RunDir(Path("run")), "cpu")
    assert set(session.training_bots) == set(bots.LADDER) - {"rusher"}
    assert session.rating.anchors == ("random", *(f"cpu_{level}" for level in range(1, 10)))


def test_characters_are_those_of_the_real_game():
    assert live("--character", "pichu").game.character == "pichu"
    with pytest.raises(ConfigError, match="--character pichu: the mock has no data of pichu"):
        parse(["--character", "pichu"])
    drawn = {with_defaults(live("--character", "random", "--seed", seed)).game.character for seed in range(30)}
    assert not drawn <= CHARACTERS.keys()


def test_policies_play_in_the_mock_and_in_the_real_game(emulators, tmp_path):
    once = ("--timesteps", ITERATION)
    assert train(tmp_path / "mock", *once)[0] == 0
    real = ("--pretrained", tmp_path / "mock", "--opponent", tmp_path / "mock")
    assert train(tmp_path / "real", *once, *real, size=LIVE)[0] == 0
    assert train(tmp_path / "back", *once, "--pretrained", tmp_path / "real")[0] == 0
    assert load_fighter(tmp_path / "real").meta.config["game"]["type"] == "dolphin"


def test_what_belongs_to_the_machine_may_change_when_a_run_is_resumed(emulators, tmp_path):
    folder = tmp_path / "run"
    assert train(folder, "--timesteps", ITERATION, size=LIVE)[0] == 0
    settings = ("--set", "emulator.recycle_mb=1", "--set", "run.process_mb=99")
    moved = ("--dolphin", "elsewhere", "--set", "emulator.slippi_port=50000", "--headless", *settings)
    assert train(folder, "--timesteps", 2 * ITERATION, *moved, resume=True)[0] == 0
    expected = {"dolphin": "elsewhere", "slippi_port": 50000, "headless": True, "recycle_mb": 1}
    assert expected.items() <= emulators.opened[-1][1].items()
    assert (emulators.process_mb[0], emulators.process_mb[-1]) == (4096, 99)
    with pytest.raises(ConfigError, match="--cpu-level is 3, but the run to resume was started with none"):
        train(folder, "--cpu-level", 3, resume=True)


def test_a_run_of_the_mock_keeps_no_settings_of_emulators_and_loads():
    config = parse(["--preset", "none"]).config
    saved = config.model_dump(mode="json")
    assert "emulator" not in saved
    assert Config.model_validate(saved) == config


def test_rating_games_have_the_slots_behind_those_of_training():
    assert _rating_slots(live("--num-games", 3)) == range(3, 6)


def test_deadlines_leave_time_for_a_new_emulator_and_for_real_time():
    patient = live("--set", "emulator.start_timeout=90", "--set", "emulator.frame_timeout=7")
    assert HOST.limits(patient).least_s == 2 * 90 + 7 + LEAST_TIMEOUT_S
    assert HOST.limits(patient).first_s == FIRST_TIMEOUT_S
    long = HOST.limits(live("--rollout-length", 6000))
    assert long.first_s > 10 * 6000 * 4 / 60
    # Otherwise four emulators that hang would never be too many.
    assert HOST.park_policy(patient).period_s > 4 * HOST.opens_within_s(patient)
    person = live("--human-port", 1)
    assert HOST.limits(person).least_s == HOST.opens_within_s(person) == math.inf  # who takes all the time in the menus
    assert HOST.park_policy(person).period_s < math.inf


def test_a_resumed_run_begins_new_games(emulators, tmp_path, monkeypatch):
    def never(self):
        pytest.fail("these games cannot do that")

    for name in ("warm_up", "snapshot"):
        monkeypatch.setattr(Block, name, never)
    folder = tmp_path / "run"
    size = ("--mode", "delta_uniform", "--save-interval", 1, "--timesteps", 2 * ITERATION)
    assert train(folder, *size, size=LIVE)[0] == 0
    state = load_latest_learner(RunDir(folder))
    assert state.meta.opponents == {}
    assert not [name for name in state.arrays if name.startswith("games/")]
    code, text = train(folder, "--timesteps", 3 * ITERATION, resume=True)
    assert code == 0
    assert "Finished after 3 iterations" in text
    assert len(emulators.opened) == 8
    for opened in (emulators.opened[:4], emulators.opened[4:]):
        assert sorted(options["slot"] for _, options, _ in opened) == [0, 1, 2, 3]


def test_all_emulators_ask_the_same_networks_together(emulators, tmp_path, monkeypatch):
    made = []

    class Counted(InferenceBatcher):
        def __init__(self):
            super().__init__()
            self.asked = set()
            made.append(self)

        def __call__(self, network, obs, memory):
            self.asked.add(threading.current_thread().name)
            return super().__call__(network, obs, memory)

    monkeypatch.setattr("selfplay.ppo.blocks.InferenceBatcher", Counted)
    assert train(tmp_path / "run", "--timesteps", ITERATION, size=LIVE)[0] == 0
    (together,) = made
    assert together.asked == {f"runner-{i:03d}" for i in range(GAMES)}
    assert train(tmp_path / "other", "--timesteps", ITERATION)[0] == 0
    assert len(made) == 1  # large blocks ask for themselves


# ---- ratings


def test_rating_games_are_played_in_emulators_of_their_own(emulators, tmp_path, monkeypatch):
    affordable = itertools.cycle((24, 0))  # games of a block, on a slow machine, too, and then no more
    monkeypatch.setattr("selfplay.run.rating_games.RatingBudget.games", lambda *_: next(affordable))
    folder = tmp_path / "run"
    flags = ("--track-elo", "--rating-share", 1, "--timesteps", 2 * ITERATION, "--save-interval", 1)
    code, text = train(folder, *flags, "--set", "run.process_mb=99", size=LIVE)
    assert code == 0
    assert set(emulators.process_mb) == {99}
    assert "Elo Leaderboard" in text
    opened = [options for _, options, _ in emulators.opened]
    training = [options for options in opened if "rewards" in options]
    rating = [options for options in opened if options not in training]
    assert {options["slot"] for options in training} == set(range(GAMES))
    assert {options["slot"] for options in rating} <= set(range(GAMES, 2 * GAMES))
    assert all(options["cpu_level"] is options["human_port"] is None for options in rating)
    records = list(read_records(folder / "ledger.jsonl"))
    assert records
    assert {record.settings for record in records} == {settings_of(config_of(RunDir(folder))).settings}
    met = {seat.player: seat.version for record in records for seat in record.seats}
    assert met.keys() & set(CPU)
    assert {version for player, version in met.items() if player in CPU} == {MELEE}


def test_ratings_of_real_games_are_no_ratings_of_the_mock(emulators):
    mock, real = settings_of(parse(["--preset", "none"]).config), settings_of(live())
    assert mock.settings != real.settings
    assert real.described["game"] == "dolphin"
    assert "rules" not in real.described  # which are those of the mock
    assert "game" not in mock.described  # or tables of before there were real games would not be found


def test_a_rating_game_is_thought_to_take_its_whole_time(emulators):
    cost_s = HOST.rating_cost_s(live("--num-games", 2, "--max-episode-frames", 3600))
    assert cost_s == 30
    budget = RatingBudget(0.5, 3600, by_frames=False, cost_s=cost_s)
    assert budget.games(120.0, 0) == 2


def test_rating_games_outside_training_are_real_ones_too(emulators, tmp_path, monkeypatch):
    folder = RunDir(tmp_path / "run")
    assert train(folder.path, "--timesteps", ITERATION, size=LIVE)[0] == 0
    config = config_of(folder)
    match_player = match_player_of(config, folder, print)
    before = len(emulators.opened)
    assert rate_run(folder, settings_of(config), ["gen_0", "gen_1"], 4, 0, match_player=match_player) == 4
    assert {options["slot"] for _, options, _ in emulators.opened[before:]} <= set(range(GAMES, 2 * GAMES))
    assert match_player_of(parse(["--preset", "none"]).config, folder, print) == MatchPlayer()
    named = config.model_copy(update={"game": config.game.model_copy(update={"dolphin": "x", "iso": "y"})})
    with pytest.raises(ConfigError, match="add --dolphin=x --iso=y"):
        match_player_of(named, folder, print, {"game.dolphin": "mine"})
    match_player_of(named, folder, print, {"game.dolphin": "mine", "game.iso": "mine, too"})


def test_what_was_played_in_an_emulator_cannot_be_played_again(emulators, tmp_path):
    assert train(tmp_path / "run", "--timesteps", ITERATION, size=LIVE)[0] == 0
    with pytest.raises(IncompatibleError, match="do not follow from their seed; --save-replays keeps them"):
        FilmReplayer(RunDir(tmp_path / "run"))


# ---- one that is slow or dead never stops the others


def experiences(folder):
    return [row["charts/experiences"] for row in rows(folder / "metrics.jsonl")]


def test_a_slow_emulator_is_left_behind_and_its_segment_learned_from_late(emulators, tmp_path, monkeypatch):
    gate, there = threading.Event(), threading.Event()
    collect, update, slow = Block.collect, Learner.update, []

    def late(self, order):
        slow.append(self)
        if self is not slow[0] or there.is_set():
            return collect(self, order)
        gate.wait(LIMIT_S)
        result = collect(self, order)
        there.set()
        return result

    def after(self, *arguments):
        gate.set()
        assert there.wait(LIMIT_S)  # it delivers while the learner learns from the others
        return update(self, *arguments)

    monkeypatch.setattr(Block, "collect", late)
    monkeypatch.setattr(Learner, "update", after)
    folder = tmp_path / "run"
    assert train(folder, "--mode", "latest", "--timesteps", 3 * ITERATION, size=LIVE)[0] == 0
    segment = 2 * STEPS  # of a mirror game
    first, second, *_ = experiences(folder)
    assert first == (GAMES - 1) * segment
    assert second >= GAMES * segment
    last = rows(folder / "metrics.jsonl")[-1]
    assert (last["runners/late"], last["runners/dropped"], last["total_steps"]) == (1, 0, 3 * ITERATION)


def test_an_emulator_that_does_not_open_stops_nobody(emulators, tmp_path):
    gate = threading.Event()
    emulators.before = lambda slot: gate.wait(LIMIT_S) if slot == 3 else None
    folder = tmp_path / "run"
    try:
        code, _ = train(folder, "--mode", "latest", "--timesteps", 2 * ITERATION, size=LIVE)
    finally:
        gate.set()
    assert code == 0
    assert experiences(folder) == [(GAMES - 1) * 2 * STEPS] * 2


def test_an_emulator_that_fails_again_and_again_is_parked(emulators, tmp_path):
    def fail(slot):
        if slot == 3:
            raise GameError("no disc in the drive")

    emulators.before = fail
    folder = tmp_path / "run"
    code, text = train(folder, "--mode", "latest", "--timesteps", 2 * ITERATION, size=LIVE)
    assert code == 0
    assert "runner-003 failed: selfplay.games.errors.GameError: no disc in the drive; it is replaced" in text
    assert experiences(folder) == [(GAMES - 1) * 2 * STEPS] * 2


def test_where_none_opens_the_run_ends_with_the_first_cause(emulators, tmp_path, monkeypatch):
    monkeypatch.setattr("selfplay.run.training.BEGINNING_S", 0.1)

    def fail(slot):
        raise GameError("no disc in the drive")

    emulators.before = fail
    with pytest.raises(SelfPlayError, match="no disc in the drive"):
        train(tmp_path / "run", "--mode", "latest", "--timesteps", ITERATION, size=LIVE)


def test_segments_of_other_games_are_never_late(tmp_path):
    assert train(tmp_path / "run", "--timesteps", ITERATION)[0] == 0
    assert "runners/late" not in rows(tmp_path / "run" / "metrics.jsonl")[-1]


def test_a_first_signal_ends_a_run_whose_games_do_not_begin(emulators, tmp_path, monkeypatch):
    """They may take minutes to start, or to give up."""
    gate = threading.Event()

    def begin(self):
        signalled(signal.SIGINT)()
        gate.wait()

    monkeypatch.setattr(Block, "begin", begin)
    folder = tmp_path / "run"
    try:
        code, text = train(folder, "--num-games", 1, "--timesteps", ITERATION, size=LIVE)
    finally:
        gate.set()
    assert code == 128 + signal.SIGINT
    assert "Interrupted, and saved, after 0 iterations" in text
    monkeypatch.undo()


def test_a_first_signal_does_not_wait_for_a_runner_that_is_parked(emulators, tmp_path, monkeypatch):
    collect, calls = Block.collect, iter(range(1, 10**9))

    def fail(self, order):
        if next(calls) > 1:
            raise OSError("no room")
        return collect(self, order)

    monkeypatch.setattr(Block, "collect", fail)
    before(monkeypatch, WorkQueue, "give_up", 1, signalled(signal.SIGTERM))
    folder = tmp_path / "run"
    code, text = train(folder, "--num-games", 1, "--timesteps", 3 * STEPS * 2, size=LIVE)
    assert code == 128 + signal.SIGTERM
    assert "Interrupted, and saved, after 1 iterations" in text
    assert load_latest_learner(RunDir(folder)).meta.iteration == 1
