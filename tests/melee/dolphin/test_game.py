"""The bridge on the stand-in, whose games are the mock's: what comes out must be what the mock gives directly."""

import configparser
from pathlib import Path

import numpy as np
import pytest

from selfplay.games.check import _check_batch
from selfplay.games.errors import ActionError, GameError
from selfplay_melee.controller import FIELDS, MAIN_X, NEUTRAL
from selfplay_melee.dolphin.roster import CHARACTERS, Seat
from selfplay_melee.errors import DolphinError
from selfplay_melee.limits import ENDED_BY
from selfplay_melee.mock import MockMelee
from selfplay_melee.replay import Recording, read_replay
from selfplay_melee.slp.start import CPU, HUMAN
from selfplay_melee.state import CONTROLLER, PLAYER
from selfplay_melee.tables import STAGES
from tests.melee.dolphin.emulators import PORT, SEED, SEEDS, emulator_of, game_on, games_in, process_of, random_actions
from tests.support.fake_dolphin.disc import Disc

from selfplay_melee.dolphin import match  # isort: skip # needs libmelee, which ``emulators`` asks for
from selfplay_melee.dolphin.emulator import Emulator  # isort: skip

TOLERANCE = 2e-6  # events have the width of float32
COMPARED = ("obs", "reward")


def play_beside_mock(game, steps, options, choose=lambda rng, game: random_actions(rng)):
    """Play both with the same actions and compare all that comes out; how the episodes ended."""
    mock = MockMelee(1, **options)
    mock.bots[:] = game.bots
    rng = np.random.default_rng(SEED)
    ended = []
    np.testing.assert_allclose(game.reset(SEEDS), mock.reset(SEEDS), atol=TOLERANCE)
    for step in range(steps):
        compare_states(game.state, mock.state, step)
        actions = choose(rng, game)
        ours, theirs = game.step(actions), mock.step(actions)
        for name in COMPARED:
            np.testing.assert_allclose(
                getattr(ours, name), getattr(theirs, name), atol=TOLERANCE, rtol=1e-6, err_msg=f"{name} of step {step}"
            )
        assert (ours.terminated[0], ours.truncated[0]) == (theirs.terminated[0], theirs.truncated[0]), step
        if ours.ended[0]:
            ended.append(ENDED_BY[ours.stats["ended"][0, 0]])
            np.testing.assert_array_equal(ours.score, theirs.score)
            np.testing.assert_allclose(ours.final_obs, theirs.final_obs, atol=TOLERANCE, rtol=1e-6)
            for field in ours.stats.dtype.names:
                np.testing.assert_allclose(ours.stats[field], theirs.stats[field], rtol=1e-5, atol=1e-4, err_msg=field)
    return ended


def compare_states(ours, theirs, step):
    for name in PLAYER.names:
        np.testing.assert_allclose(
            ours.players[name], theirs.players[name], rtol=1e-6, atol=1e-5, err_msg=f"{name} of step {step}"
        )
    for name in CONTROLLER.names:
        if name == "buttons":
            np.testing.assert_array_equal(ours.controllers[name], theirs.controllers[name], err_msg=f"step {step}")
        else:
            np.testing.assert_allclose(ours.controllers[name], theirs.controllers[name], rtol=1e-6, err_msg=name)
    assert ours.game["frame"][0] == theirs.game["frame"][0]


@pytest.fixture
def make(tmp_path, scratch):
    """Makes games; nothing of them may be left."""
    with games_in(scratch) as games:

        def make(disc=None, **options):
            games.append(game_on(tmp_path / f"stand_in_{len(games)}", disc, **options))
            return games[-1]

        yield make


@pytest.mark.full
def test_every_frame_is_the_mocks(make):
    options = {"characters": ("fox", "marth"), "stage": "battlefield", "max_episode_frames": 300}
    game = make(compiled=True, **options)
    assert play_beside_mock(game, 650, options) == ["cap"] * 2


@pytest.mark.full
def test_games_that_end_by_stocks(make):
    """Both run to the right."""
    options = {"characters": ("falco", "sheik"), "stage": "yoshis_story", "max_episode_frames": 20_000}
    game = make(compiled=True, **options)
    assert play_beside_mock(game, 1100, options, run_right) == ["stocks"]


def run_right(rng, game):
    actions = np.broadcast_to(NEUTRAL, (1, 2, len(NEUTRAL))).copy()
    actions[0, :, MAIN_X] = np.where(game._games.mirrored[0], 0, 16)
    actions[0, :, FIELDS.index("X")] = game._games.episode["frames"][0] % 40 < 3  # over the edge, at which they teeter
    return actions


@pytest.mark.slow
def test_frame_skip_and_delay(make):
    options = {"frame_skip": 4, "delay": [0, 3], "max_episode_frames": 500, "stage": "dreamland", "stagger": True}
    game = make(**options)
    assert play_beside_mock(game, 300, options)[:2] == ["cap"] * 2


@pytest.mark.full
def test_scripted_players_in_a_seat(make):
    options = {"characters": ("mewtwo", "fox"), "max_episode_frames": 400, "frame_skip": 3}
    game = make(**options)
    game.bots[0, 1] = game.bot_names.index("rusher")
    play_beside_mock(game, 250, options)


@pytest.mark.full
@pytest.mark.parametrize(
    "stage", [pytest.param(stage, marks=() if stage.startswith("f") else pytest.mark.slow) for stage in sorted(STAGES)]
)
def test_every_stage(make, stage):
    options = {"characters": ("sheik", "marth"), "stage": stage, "max_episode_frames": 60}
    play_beside_mock(make(**options), 70, options)


@pytest.mark.slow
def test_lock_step(make):
    """What is held after frame N is the input of frame N+1, on both ports, in 10,000 frames without a gap."""
    game = make(max_episode_frames=60_000)
    game.reset(SEEDS)
    play, rng = game._dolphin, np.random.default_rng(0)
    records = np.zeros((10_000, 2), CONTROLLER)
    for name in ("main_x", "main_y", "c_x", "c_y"):
        records[name] = rng.integers(-8, 9, records.shape) / 8
    records["shoulder"] = rng.integers(0, 5, records.shape) / 4
    records["buttons"] = rng.integers(0, 1 << 8, records.shape)
    wrong, frame, games = 0, 0, 0
    for inputs in records:
        if not play.advance(inputs) or (play.state.players["stocks"] <= 0).any():
            play.begin([Seat(16), Seat(16)], "final_destination")
            frame, games = 0, games + 1
            continue
        frame += 1
        assert play.state.game["frame"][0] == frame
        seen = play.state.controllers[0]
        wrong += sum(not np.allclose(seen[name], inputs[name], atol=1e-6) for name in CONTROLLER.names)
    assert wrong == 0
    assert games < 20


@pytest.mark.full
def test_no_input_is_lost_where_dolphin_waits_for_the_first_pipe_only(make):
    game = make(Disc(seed=SEED, persona="ishiiruka"))
    game.reset(SEEDS)
    inputs = np.zeros((300, 2), CONTROLLER)
    inputs["main_x"] = np.random.default_rng(0).integers(-8, 9, inputs.shape) / 8
    for frame in inputs:
        assert game._dolphin.advance(frame)
        np.testing.assert_allclose(game._dolphin.state.controllers["main_x"][0], frame["main_x"], atol=1e-6)


@pytest.mark.full
def test_computer_players(make):
    """By the level of the other seat, and by who is seated; they come and go on one emulator."""
    game = make(max_episode_frames=120)
    for player, level in (("cpu_5", 5), (None, 0), ("cpu_9", 9), ("cpu_2", 2), (None, 0)):
        game.bots[0, 1] = -1 if player is None else game.bot_names.index(player)
        game.reset(SEEDS)
        port = emulator_of(game).reader.start.ports[1]
        assert (port.kind, port.level if level else 0) == (CPU if level else HUMAN, level)
        pid = process_of(game).pid
        for _ in range(60):
            game.step(neutral_actions(game))
    assert process_of(game).pid == pid
    other = make(port=PORT + 5, cpu_level=4, max_episode_frames=120)
    assert other.outsider == 1
    other.reset(SEEDS)
    assert emulator_of(other).reader.start.ports[1].level == 4
    with pytest.raises(DolphinError, match="a computer player cannot be sheik"):
        make(cpu_level=4, characters=("fox", "sheik")).reset(SEEDS)
    with pytest.raises(DolphinError, match="both a computer player's and a person's"):
        make(cpu_level=4, human_port=2)


def neutral_actions(game):
    return np.broadcast_to(NEUTRAL, (1, 2, len(NEUTRAL))).copy()


@pytest.mark.full
@pytest.mark.parametrize("port", [1, 2])
def test_a_person(make, port):
    """Chooses a character, and plays; the other seat is ours."""
    disc = Disc(seed=SEED, persona="mainline", human="walker", human_character="marth")
    game = make(disc, human_port=port, characters=("fox", "fox"), max_episode_frames=100)
    assert game.outsider == port - 1
    game.reset(SEEDS)
    ours = 2 - port
    assert emulator_of(game).console.controllers[0].port == ours + 1
    names = {number: name for name, number in CHARACTERS.items()}
    characters = [names[int(number)] for number in game.state.players["character"][0]]
    assert (characters[port - 1], characters[ours]) == ("marth", "fox")
    actions = run_right(None, game)
    for _ in range(20):
        game.step(actions)
    assert game.state.controllers["main_x"][0, ours] == 1.0


@pytest.mark.full
def test_a_capped_episode_leaves_the_emulator_running(make):
    game = make(max_episode_frames=80)
    game.reset(SEEDS)
    pid = process_of(game).pid
    ended = 0
    for _ in range(3 * 80):
        batch = game.step(neutral_actions(game))
        _check_batch(batch, game, "step")
        ended += int(batch.truncated[0])
    assert ended == 3
    assert process_of(game).pid == pid


def episodes_by_pid(game, count):
    """Process of each episode in turn."""
    game.reset(SEEDS)
    pids = [process_of(game).pid]
    while len(pids) < count:
        if game.step(neutral_actions(game)).ended[0]:
            pids.append(process_of(game).pid)
    return [pids.index(pid) for pid in pids]


@pytest.mark.full
def test_recycling_by_frames_is_staggered_by_slot(make):
    options = {"max_episode_frames": 77, "recycle_frames": 500, "slots": 2}  # 200 frames a game with its countdown
    assert episodes_by_pid(make(slot=0, **options), 5) == [0, 0, 2, 2, 2]
    assert episodes_by_pid(make(slot=1, port=PORT + 5, **options), 5) == [0, 0, 0, 3, 3]


@pytest.mark.slow
def test_recycling_by_memory(make):
    disc = Disc(seed=SEED, leak_mb_per_1000_frames=400)
    game = make(disc, max_episode_frames=77, recycle_mb=100)  # 80 MB a game
    assert episodes_by_pid(game, 4) == [0, 0, 2, 2]


@pytest.mark.full
def test_memory_that_grows_within_a_game_is_bounded(make, monkeypatch):
    monkeypatch.setattr(match, "MEMORY_FRAMES", 10)
    game = make(recycle_mb=100, max_episode_frames=10_000)
    game.reset(SEEDS)
    pid, held = process_of(game).pid, [200.0]
    monkeypatch.setattr(Emulator, "memory_mb", lambda self: held[0])
    game._dolphin._age.megabytes = 150.0
    for _ in range(30):
        assert not game.step(neutral_actions(game)).ended[0]
    held[0] = 251.0
    frames = 0
    while not (batch := game.step(neutral_actions(game))).ended[0]:
        frames += 1
    assert frames < 10
    assert batch.truncated[0]
    assert game.state.game["frame"][0] == 0
    assert process_of(game).pid != pid
    assert any("it grew from 150 to 251 MB" in note for note in game.notes)


@pytest.mark.full
def test_episodes_that_are_cut_short_go_on_in_one_game_and_the_next_begins_at_once(make):
    game = make(play_on=True, characters=("falco", "sheik"), stage="yoshis_story", max_episode_frames=40)
    game.reset(SEEDS)
    pid, reader = process_of(game).pid, emulator_of(game).reader
    for frame in range(1, 121):
        batch = game.step(neutral_actions(game))
        assert batch.truncated[0] == (frame % 40 == 0)
        assert game.state.game["frame"][0] == frame
    assert reader.games == 1
    menus = []
    emulator_of(game).menu_step = lambda: menus.append(0)
    for _ in range(1100):
        if (batch := game.step(run_right(None, game))).terminated[0]:
            break
    assert ENDED_BY[batch.stats["ended"][0, 0]] == "stocks"
    assert (game.state.game["frame"][0], reader.games, menus) == (0, 2, [])
    assert STAGES["yoshis_story"] == game.state.game["stage"][0]
    assert process_of(game).pid == pid


@pytest.mark.full
def test_first_questions_of_windows_are_answered(make):
    game = make(Disc(seed=SEED, persona="ishiiruka"), max_episode_frames=50)
    game.reset(SEEDS)
    ini = configparser.ConfigParser()
    ini.read(Path(emulator_of(game).console._get_dolphin_config_path()) / "Dolphin.ini")
    assert dict(ini["Analytics"]) == {"enabled": "False", "permissionasked": "True"}
    assert dict(ini["Interface"]) == {"confirmstop": "False", "usepanichandlers": "False"}
    assert dict(ini["AutoUpdate"]) == {"updatetrack": ""}
    assert (ini["Core"]["adapterwarning"], ini["Core"]["shownlagreductionwarning"]) == ("False", "True")
    assert ini["Core"]["blockingpipes"] == "True"  # libmelee's own are there, too


def test_replays_are_what_was_seen(make, tmp_path):
    game = make(replay_dir=str(tmp_path / "replays"), characters=("fox", "falco"), max_episode_frames=150)
    game.reset(SEEDS)
    seen, rng = Recording(), np.random.default_rng(2)
    seen.take(game.state)
    for _ in range(149):
        game.step(random_actions(rng))
        seen.take(game.state)
    game.step(random_actions(rng))  # the game is quit, the next one begins
    files = sorted((tmp_path / "replays").rglob("*.slp"), key=lambda path: path.stat().st_size)
    replay = next(r for r in map(read_replay, files) if len(r.state.game) > 200)
    wanted, first = seen.state(), int(np.flatnonzero(replay.state.game["frame"] == 0)[0])
    for name in PLAYER.names:
        got = replay.state.players[name][first : first + 150]
        np.testing.assert_array_equal(got, wanted.players[name], err_msg=name)
    for name in CONTROLLER.names:
        got = replay.state.controllers[name][first : first + 150]
        np.testing.assert_array_equal(got, wanted.controllers[name], err_msg=name)


def test_the_contract_of_games(make):
    """What ``check_game`` asks, as far as a game without snapshots and in a block of one can promise it."""
    game = make(max_episode_frames=50)
    with pytest.raises(GameError, match="one game at a time"):
        make(num_games=2)
    assert np.isfinite(game.reset(SEEDS)).all()
    bad = neutral_actions(game)
    bad[0, 1, MAIN_X] = 17
    before = game.state.game["frame"][0]
    with pytest.raises(ActionError, match="seat 1"):
        game.step(bad)
    assert game.state.game["frame"][0] == before
    rng = np.random.default_rng(3)
    for step in range(120):
        _check_batch(game.step(random_actions(rng)), game, f"step {step}")
    assert game.snapshot() == {}
    with pytest.raises(DolphinError, match="snapshot"):
        game.restore({})


@pytest.mark.full
def test_where_games_do_not_restart_one_ends_with_its_last_observation(make):
    game = make(restarts=False, max_episode_frames=60)
    game.reset(np.zeros(1, np.uint64))
    while not (batch := game.step(np.array(NEUTRAL)[None, None].repeat(2, 1))).ended[0]:
        pass
    np.testing.assert_array_equal(batch.obs, batch.final_obs)
    assert game.state.game["frame"][0] == 60
    obs = game.reset(np.zeros(1, np.uint64))
    assert game.state.game["frame"][0] == 0
    assert (obs != batch.final_obs).any()
