"""Fights of shipped policies as a page plays them, in node, against the same fights in Python."""

import json

import numpy as np
import pytest

from selfplay import load_policy
from selfplay.league.schedule import Matchup
from selfplay.policy.browser.weights import browser_policy
from selfplay.policy.recurrent_state import RecurrentState
from selfplay.runner.counter_rng import keys_of
from selfplay.runner.match import Contender, game_options, play, play_in
from selfplay_melee.browser.assets import RULES_JS, rules_module, table_bytes
from selfplay_melee.browser.figures import move_tables
from selfplay_melee.browser.program import LINE
from selfplay_melee.browser.scene import scene_facts
from selfplay_melee.drawing.film import Recorder
from selfplay_melee.drawing.items import shots_of
from selfplay_melee.episodes import step_games
from selfplay_melee.limits import ENDED_BY
from selfplay_melee.mock import MockMelee
from selfplay_melee.tables import CHARACTERS, STAGES
from tests.melee.browser import test_live_film as films
from tests.melee.browser.recording import arrays_of, options_of
from tests.policy.browser.test_browser_policy import HERE, MODULES
from tests.support.fight_rules import fight_rules
from tests.support.node import gather, needs_node, run_node

SKIP = 4
DECISIONS = 400  # at least
STAGE = "battlefield"


@pytest.fixture(scope="module")
def players():
    shipped = {name: Contender(name, load_policy(name)) for name in ("strong", "medium")}
    return shipped | {"rusher": Contender("rusher")}


class Filmed(MockMelee):
    """One game as in a page: its frames are steps of their own, and it stays at its last frame."""

    def __init__(self, policies, delay, **options):
        super().__init__(1, delay=LINE - SKIP, **options)
        self._games.delay[:] = delay
        self._policies, self._memory, self._recorder = policies, RecurrentState(2), Recorder()
        self.states = []  # at each decision and at the end: the bytes of all parts, and the actions
        self.parts = [*arrays_of("games", self._games), *arrays_of("out", self._out)]

    def step(self, actions, acts=None):
        self._choose(actions, acts)
        self._keep(actions)
        values = np.full(2, np.nan, np.float32)
        for seat, policy in enumerate(self._policies):
            if policy is not None:
                values[seat] = policy.value(self._out.obs[:, seat], self._memory, slice(seat, seat + 1))[0]
        for _ in range(self.frame_skip):
            self._take(values)
            step_games(self._options()._replace(frame_skip=1), self._games, self._tables, self._out, False)
            if self._batch.ended[0]:
                self._take(values)
                self._keep(actions)
                break
        return self._batch

    def _keep(self, actions):
        self.states.append(b"".join([*(array.tobytes() for _, array in self.parts), actions.tobytes()]))

    def _take(self, values):
        self._recorder.take(self.state, values, shots_of(self.memory[0]))

    def film(self):
        return self._recorder.film("fight", ("red", "blue"))


def fight_in_node(folder, game, matchup, policies, options):
    """What node makes of the same fight: the bytes at each decision and at the end, and its film with its tables."""
    characters = [CHARACTERS[name] for name in matchup.roles]
    known = sorted(set(characters))
    tables = move_tables(known)
    about = {
        "start": {
            "seed": str(matchup.seed),
            "characters": characters,
            "stage": STAGES[STAGE],
            "bots": game.bots[0].tolist(),
            "delay": options["delay"][0],
            "options": options_of(game, frame_skip=1),
        },
        "seats": [None, None],
        "parts": [name for name, _ in game.parts],
        "facts": scene_facts(known, [STAGES[STAGE]]),
        "tables": {name: table.ravel().tolist() for name, table in tables.items()},
        "fight": {
            "stage": STAGES[STAGE],
            "characters": characters,
            "names": ["red", "blue"],
            "title": "fight",
            "values": True,
        },
        "frame_skip": SKIP,
    }
    for seat, policy in enumerate(policies):
        if policy is not None:
            data, key = browser_policy(policy), keys_of([matchup])[0, seat]
            about["seats"][seat] = {"description": data.description, "key": str(key)}
            (folder / f"weights{seat}").write_bytes(data.weights)
    (folder / "about.json").write_text(json.dumps(about))
    (folder / "rules.wasm").write_bytes(rules_module())
    (folder / "tables").write_bytes(table_bytes(CHARACTERS, STAGES))  # of all: the memory has their rows
    others = (RULES_JS, *films.MODULES, films.MOMENT, films.HERE / "save.js", HERE / "fight.js")
    run_node(gather(folder, *MODULES, *others), folder)
    return (folder / "states").read_bytes(), json.loads((folder / "film.json").read_text()), tables


@needs_node
@pytest.mark.full
@pytest.mark.parametrize(
    ("matchup", "frames", "ending"),
    [
        (Matchup(("strong", "medium"), ("mewtwo", "mewtwo"), 11), 1702, "cap"),
        (Matchup(("rusher", "strong"), ("fox", "mewtwo"), 2**53 - 1), 14_400, "stocks"),
    ],
    ids=["two-policies", "a-scripted-player"],
)
def test_a_fight_in_a_page_is_that_of_python(tmp_path, players, matchup, frames, ending):
    rules = fight_rules(stage=STAGE, max_episode_frames=frames)
    options = game_options([matchup], players, rules)
    policies = [players[name].policy for name in matchup.players]
    game = Filmed(policies, **options)
    result = play_in(game, [matchup], players, rules)[0]
    (usual,) = play([matchup], players, rules)
    assert result.score == usual.score
    assert ENDED_BY[result.stats["ended"][0]] == ENDED_BY[usual.stats["ended"][0]] == ending

    found, recorded, tables = fight_in_node(tmp_path, game, matchup, policies, options)
    sizes = {name: array.nbytes for name, array in game.parts} | {"actions": 2 * game.actions.width}
    row = np.dtype([(name, "u1", size) for name, size in sizes.items()])
    found, expected = np.frombuffer(found, row), np.frombuffer(b"".join(game.states), row)
    assert len(expected) > DECISIONS
    for name in reversed(sizes):  # what differs first is an action
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
    film = game.film()
    films.assert_same_film(recorded, tables, film, films.ROUNDED | {"values": 1e-5})
    assert film.frames[-1] == result.stats["frames"][0]
    assert film.players["stocks"][-1].tolist() == result.stats["stocks"].tolist()
