"""Games that people played, and games of our own, as logs."""

import json
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from selfplay.games.errors import GameError
from selfplay_dialogue.states import LAPTOP, MatchingRules, draw_states
from tests.dialogue.games.dialop_logs import OTHER_NAMES, TWICE, SaidTurn, read_game, read_games
from tests.dialogue.games.tables import with_itself

ROOT = Path(__file__).parents[3]
FIXTURE = ROOT / "tests/fixtures/dialop/optimization_20.jsonl"
ALL = ROOT.parent / "shared/data/dialop/optimization_100.jsonl"
DOCUMENTS = [json.loads(line) for line in FIXTURE.read_text().splitlines()]


def test_the_committed_games_recompute():
    games, notes = read_games(FIXTURE.read_text().splitlines())
    assert len(games) == 20
    assert [game.reward for game in games] == pytest.approx([document["result"]["norm"] for document in DOCUMENTS])
    assert all(
        game.state.best == document["best_assignment_reward"] for game, document in zip(games, DOCUMENTS, strict=True)
    )
    assert notes[OTHER_NAMES] == 3  # proposals, all of one game
    assert notes[TWICE] > 0
    for game in games:
        assert all(one.seat != other.seat for one, other in zip(game.turns, game.turns[1:], strict=False))
        assert game.turns[-1].accepts


def test_all_games_recompute():
    if not ALL.exists():
        pytest.skip("needs the games of dialop in ../shared")
    lines = ALL.read_text().splitlines()
    games, notes = read_games(lines)
    assert len(games) == 100
    assert np.mean([game.reward for game in games]) == pytest.approx(0.9236, abs=1e-4)
    assert notes == {TWICE: 173, OTHER_NAMES: 3}
    assert set(FIXTURE.read_text().splitlines()) <= set(lines)


def test_what_a_player_does_in_a_row_is_one_turn():
    game = read_game(deepcopy(DOCUMENTS[0]))
    assert game.turns[0] == SaidTurn(1, messages=("Hello, let's figure this out together!",))
    last = game.turns[-2]
    assert last.messages == ("Let's take a look at this one!",)
    assert last.proposal == game.agreed


@pytest.mark.parametrize("rules", [LAPTOP, MatchingRules(size=4)], ids=["laptop", "dialop"])
@pytest.mark.parametrize("style", ["random", "pooling"])
def test_our_own_games_are_read_too(rules, style):
    for seed, state in enumerate(draw_states(rules, range(5))):
        played = with_itself(rules, state, style, seed)
        game = read_game(json.loads(json.dumps(played.record())))
        assert (game.reward, game.notes) == (played.outcome.rewards[0], ())
        assert [turn.seat for turn in game.turns] == [turn.seat for turn in played.turns]


def changed(path, value):
    document = deepcopy(DOCUMENTS[0])
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("proposal_reward",), 600, "proposal_reward is 600, but what was agreed on is worth 618"),
        (("best_assignment_reward",), 600, "best_assignment_reward is 600"),
        (("table", 3, 0), 0, "best_assignment_reward is 618, but"),
        (("action_log",), "none", "action_log: must be a list"),
        (("action_log", 0, "player"), 2, "action_log\\[0\\]: no message, proposal or proposal_response"),
        (("action_log", 0, "message", "data"), 3, "action_log\\[0\\]: no message"),
        (("action_log", 0, "message", "from_player"), 0, "player is 1, from_player 0"),
        (("action_log", -2, "proposal_ids"), [[0, 0]] * 8, "proposal_ids must be 8 pairs"),
        (("action_log", -2, "proposal_ids"), [[0, 0]], "proposal_ids must be 8 pairs"),
        (("action_log", -2, "proposal_ids"), [], "proposal_ids must be 8 pairs"),
        (("action_log", -2, "proposal_ids"), [[i, i] for i in range(8)], "different assignments"),
        (("action_log", -2, "proposal_ids", 0), [3.0, 0], "proposal_ids must be 8 pairs"),
        (("action_log", -2, "proposal"), "Proposal: Ava Li", "proposal: A proposal begins"),
        (("action_log", -2, "type"), "message", "action_log\\[10\\]: no message"),
        (("action_log", -1, "player"), 0, "action_log\\[11\\]: a player answers its own proposal"),
        (("action_log", 0), {"type": "proposal_response", "player": 1, "response": {"accept": True}}, "no proposal to"),
    ],
)
def test_a_log_that_does_not_agree_with_itself_is_refused(path, value, message):
    with pytest.raises(GameError, match=message):
        read_game(changed(path, value))


def test_nothing_follows_on_the_agreement():
    document = deepcopy(DOCUMENTS[0])
    document["action_log"].append(document["action_log"][0])
    with pytest.raises(GameError, match="something follows on the agreement"):
        read_game(document)


def test_a_bad_line_is_named():
    good = FIXTURE.read_text().splitlines()[0]
    with pytest.raises(GameError, match=r"^line 2: not JSON"):
        read_games([good, "{"])
    with pytest.raises(GameError, match=r"^line 3: matching: a state needs"):
        read_games([good, good, "{}"])
