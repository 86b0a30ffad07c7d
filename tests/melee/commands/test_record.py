"""Games of the mock as files: who plays whom, what a row holds, and that a game has the same bytes whenever made."""

import itertools

import numpy as np
import pytest

from selfplay.errors import ConfigError
from selfplay.games.errors import UnknownNameError
from selfplay.league.schedule import pairings_of
from selfplay.runner.counter_rng import keys_of, uniforms
from selfplay.runner.match import Contender, play
from selfplay_melee import bots
from selfplay_melee.commands import record as recording
from selfplay_melee.commands.record import orders_of, record
from selfplay_melee.controller import ACTION_SPEC, TAP, TAP_FRAMES, decode, mirror
from selfplay_melee.errors import ReplayError
from selfplay_melee.imitation import recording as games
from selfplay_melee.imitation.recording import blocks, recorded
from selfplay_melee.mock import MockMelee, neutral_actions
from selfplay_melee.observation import encode
from selfplay_melee.replay import End, read_replay
from selfplay_melee.state import CONTROLLER, GameState, records
from selfplay_melee.tables import load_tables
from tests.run.policies import save
from tests.support.fight_rules import fight_rules

RULES = fight_rules(stage="battlefield", max_episode_frames=200)
FOX_MEWTWO = ("fox", "mewtwo")
SEED = 4


@pytest.fixture
def players(tmp_path):
    policy = recording.policy(str(save(tmp_path / "run", 0).generations / "gen_0"))
    return {player.id: player for player in (policy, Contender("rusher"), Contender("random"))}


def orders(players, folder, games, seed=SEED, rules=RULES):
    return orders_of(pairings_of(list(players), [], games, FOX_MEWTWO, seed), rules, seed, folder)


def write(players, folder, games, **changes):
    """Bytes of all files by name."""
    made = orders(players, folder, games, **changes)
    list(record(made, players, changes.get("rules", RULES)))
    return {order.path.name: order.path.read_bytes() for order in made}


def test_players_meet_each_other_in_every_order_from_both_seats():
    pairings = pairings_of(["a", "b", "c"], [], 12, FOX_MEWTWO, 0)
    first, second = pairings[:6], pairings[6:]
    assert [p.players for p in first] == list(itertools.permutations("abc", 2))
    assert {p.roles for p in first} == {FOX_MEWTWO}
    assert [p.players for p in second] == [p.players[::-1] for p in first]
    assert {p.roles for p in second} == {FOX_MEWTWO[::-1]}
    assert len({p.seed for p in pairings}) == 12


def test_with_opponents_players_do_not_meet_each_other():
    pairings = pairings_of(["a", "b"], ["x", "a"], 9, FOX_MEWTWO, 0)
    first = [("a", "x"), ("a", "a"), ("b", "x"), ("b", "a")]
    assert [p.players for p in pairings] == [*first, *(pair[::-1] for pair in first), ("a", "x")]
    for pairing in pairings[:8]:
        assert ("x", "fox") not in zip(pairing.players, pairing.roles, strict=True)


def test_a_player_alone_meets_itself():
    assert {p.players for p in pairings_of(["a", "a"], [], 3, FOX_MEWTWO, 0)} == {("a", "a")}


@pytest.mark.parametrize(
    ("players", "games", "words"), [([], 1, "at least one player is needed"), (["a"], 0, "--games 0")]
)
def test_what_cannot_be_played_is_refused(players, games, words):
    with pytest.raises(ConfigError, match=words):
        pairings_of(players, [], games, FOX_MEWTWO, 0)


def test_players_are_named_so_that_files_tell_them_apart(tmp_path):
    path = save(tmp_path / "run", 0).generations / "gen_0"
    player = recording.policy(str(path))
    assert player.id == f"gen_0-{player.policy.meta.weights_hash[:8]}"
    assert recording.opponent(str(path)).id == player.id
    assert recording.opponent("idle").id == recording.bot("idle").id == "idle"
    with pytest.raises(ConfigError, match=r"--bot idl: .*did you mean 'idle'"):
        recording.bot("idl")


def test_the_file_says_who_played_what_and_how_it_ended(players, tmp_path):
    for order in orders(players, tmp_path, 3):
        list(record([order], players, RULES))
        replay = read_replay(order.path)
        assert tuple(seat.name for seat in replay.seats) == order.matchup.players
        assert all(name in order.path.name for name in order.matchup.players)
        assert [seat.character for seat in replay.seats] == [1, 16]
        assert replay.stage == 24
        assert replay.complete
        np.testing.assert_array_equal(replay.state.game["frame"], range(200))
        assert replay.end.method == 7  # the cap is ours


def test_a_game_that_stocks_decide_names_the_loser_although_its_last_frame_is_missing():
    rules = fight_rules(max_episode_frames=20000)
    players = {name: Contender(name) for name in ("rusher", "idle")}
    pairings = pairings_of(list(players), [], 2, ("mewtwo", "mewtwo"), 0)
    results = play(pairings, players, rules)
    for replay, result in zip(recorded(pairings, players, rules), results, strict=True):
        loser = result.matchup.players.index("idle")
        assert result.stats["stocks"][loser] == 0
        assert replay.end == End(2, None, ((1, 0), (0, 1))[loser])
        assert len(replay.state.game) == result.stats["frames"][0]
        assert replay.state.players["stocks"][-1, loser] == 1


def test_a_shorter_game_does_not_run_into_its_next_episode():
    """The block starts the next episode at once while other games of it go on."""
    rules = fight_rules(max_episode_frames=20000)
    players = {name: Contender(name) for name in ("rusher", "idle", "walker")}
    pairings = pairings_of(["rusher"], ["idle", "walker"], 4, ("mewtwo", "mewtwo"), 1)
    together = list(recorded(pairings, players, rules))
    lengths = [len(replay.state.game) for replay in together]
    assert len(set(lengths)) > 1
    for replay, length in zip(together, lengths, strict=True):
        np.testing.assert_array_equal(replay.state.game["frame"], range(length))


def test_inputs_of_a_row_lead_to_the_state_of_that_row(players, tmp_path):
    """From the first row, the file's own inputs give the file's states."""
    order = orders(players, tmp_path, 1)[0]
    list(record([order], players, RULES))
    state = read_replay(order.path).state
    block = MockMelee(1, characters=order.matchup.roles, stage=RULES.conditions.stage)
    block.reset(np.array([order.matchup.seed], np.uint64))
    for row in range(len(state.game)):
        if row:
            block.play(state.controllers[row : row + 1][:, None])
        for name in ("x", "y", "percent", "action", "action_frame", "stocks"):
            np.testing.assert_array_equal(
                np.float32(block.state.players[name][0]), np.float32(state.players[name][row]), f"{name} {row}"
            )


def test_a_policys_inputs_are_what_it_chose_on_seeing_the_row_before(players, tmp_path):
    """Its observations follow from the file, and so do its choices: at rows 0, 4, 8, ... for the four rows behind."""
    (name,) = (player.id for player in players.values() if player.policy)
    policy = players[name].policy
    seen = []
    policy.network.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].numpy().copy()))
    (order,) = orders_of(pairings_of([name], ["rusher"], 1, FOX_MEWTWO, SEED), RULES, SEED, tmp_path)
    list(record([order], players, RULES))
    state = read_replay(order.path).state
    obs, mirrored = encode(state, load_tables())
    np.testing.assert_allclose(np.concatenate(seen), obs[::4, 0], rtol=0, atol=1e-5)
    key = keys_of([order.matchup])[0, :1]
    chosen = records(CONTROLLER, 1)
    for row in range(0, len(obs) - 4, 4):
        action = policy.act(obs[row, :1], uniform=uniforms(key, row // 4, ACTION_SPEC.width))
        decode(mirror(action, mirrored[row, :1]), chosen)
        wanted = np.repeat(chosen, 4)
        if action[0, TAP]:
            wanted["buttons"][TAP_FRAMES:] = 0
        assert (state.controllers[row + 1 : row + 5, 0] == wanted).all(), row
    assert len(np.unique(state.controllers[:, 0])) > 20


def test_a_scripted_players_inputs_are_what_it_chose_on_seeing_the_row_before(players, tmp_path):
    """Played without recording, a decision for four frames: the same controllers, frame for frame."""
    pairs = pairings_of(["rusher"], ["random"], 1, FOX_MEWTWO, SEED)
    (order,) = orders_of(pairs, RULES, SEED, tmp_path)
    list(record([order], players, RULES))
    state = read_replay(order.path).state
    block = MockMelee(1, characters=FOX_MEWTWO, stage=RULES.conditions.stage, frame_skip=bots.FRAME_SKIP)
    block.bots[0] = [block.bot_names.index(name) for name in order.matchup.players]
    block.reset(np.array([order.matchup.seed], np.uint64))
    for row in range(4, len(state.game), 4):
        block.step(neutral_actions(1))
        for name in CONTROLLER.names:
            held = block.state.controllers[name]
            np.testing.assert_array_equal(state.controllers[name][row - 3 : row + 1], np.repeat(held, 4, 0), name)
    assert (state.controllers[0] == GameState.zeros(1).controllers[0]).all()


def test_the_same_games_have_the_same_bytes_in_blocks_of_any_size(players, tmp_path, monkeypatch):
    together = write(players, tmp_path / "a", 7)
    monkeypatch.setattr(games, "WIDEST", 2)
    assert write(players, tmp_path / "b", 7) == together
    assert len(set(together.values())) == 7


def test_an_interrupted_recording_goes_on(players, tmp_path, monkeypatch):
    monkeypatch.setattr(games, "WIDEST", 2)
    whole = write(players, tmp_path / "whole", 6)
    made = orders(players, tmp_path / "part", 6)
    next(record(made, players, RULES))
    there = [order.path for order in made if order.path.exists()]
    assert len(there) == 2
    there[0].write_bytes(b"kept")
    progress = list(record(made, players, RULES))
    assert [files for files, _ in progress] == [4, 6]
    assert progress[-1][1] == 4 * 200
    there[0].unlink()
    list(record(made, players, RULES))
    assert {order.path.name: order.path.read_bytes() for order in made} == whole
    assert list(record(made, players, RULES)) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 5},
        {"rules": fight_rules(stage="battlefield", max_episode_frames=90)},
        {"rules": fight_rules(stage="dreamland", max_episode_frames=200)},
    ],
)
def test_other_games_have_other_files(players, tmp_path, changes):
    assert not {order.path for order in orders(players, tmp_path, 4)} & {
        order.path for order in orders(players, tmp_path, 4, **changes)
    }


@pytest.mark.parametrize(("frames", "most"), [(200, 32), (3600, 32), (28800, 5), (10**9, 5)])
def test_blocks_fit_into_memory(frames, most):
    rules = fight_rules(max_episode_frames=frames)
    sizes = [len(block) for block in blocks(range(70), rules)]
    assert sum(sizes) == 70
    assert max(sizes) == most
    assert most * min(frames, 28800) * games.FRAME_BYTES <= games.MOST_BYTES


def test_mistakes_are_found_when_games_are_played(players, tmp_path):
    wrong = fight_rules(stage="battlefeld", max_episode_frames=200)
    with pytest.raises(UnknownNameError, match="did you mean 'battlefield'"):
        list(record(orders(players, tmp_path, 1, rules=wrong), players, wrong))
    (tmp_path / "file").write_text("")
    with pytest.raises(ReplayError, match="file"):
        list(record(orders(players, tmp_path / "file", 1), players, RULES))
