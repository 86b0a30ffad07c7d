"""The rules in WebAssembly compute what Python computes, bit for bit."""

import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest

from selfplay.games.errors import UnknownNameError
from selfplay_melee import controller
from selfplay_melee.browser.assets import RULES_JS, rules_module, table_bytes
from selfplay_melee.mock import MockMelee
from selfplay_melee.observation import OBS_WIDTH
from selfplay_melee.state import CONTROLLER, records
from selfplay_melee.tables import CHARACTERS, STAGES, load_tables
from selfplay_melee.wasm.memory import MIN_STACK
from tests.melee import playthrough
from tests.melee.arena import Arena
from tests.melee.browser.comparer import HERE, Comparer, results
from tests.melee.browser.recording import record, settings, with_other_input
from tests.support.node import gather, needs_node, run_node

ROOT = Path(__file__).parents[3]
GAMES, FRAMES = 36, 2500
pytestmark = [pytest.mark.full, needs_node]


@pytest.fixture(scope="module")
def module():
    return rules_module()


@pytest.fixture(scope="module")
def comparer(module, tmp_path_factory):
    with Comparer(module, tmp_path_factory.mktemp("node")) as comparer:
        yield comparer


def test_games_are_equal_in_every_byte_at_every_frame(comparer):
    found = list(results((record(number, FRAMES) for number in range(GAMES)), [comparer]))
    assert [result for result in found if result["difference"]] == []
    assert sum(result["frames"] for result in found) == GAMES * FRAMES
    assert max(result["stack"] for result in found) < MIN_STACK // 2


def test_these_games_have_all_characters_stages_and_kinds_of_seats():
    games = [settings(number, np.random.default_rng(number)) for number in range(GAMES)]
    for seat in range(2):
        assert {game["characters"][seat] for game in games} >= (set() if seat else set(CHARACTERS))
        assert {game["bots"][seat] < 0 for game in games} == {False, True}
    assert {game["stage"] for game in games} == set(STAGES)
    assert {game["live"] for game in games} == {False, True}
    assert {game["frame_skip"] for game in games} >= {1, 4}


def test_one_changed_input_is_reported(comparer):
    recording = record(0, 600, frame_skip=1, bots=[-1, -1], delay=[0, 0])
    (result,) = results([with_other_input(recording, 400)], [comparer])
    assert result["difference"]["step"] == 400
    assert result["difference"]["field"] == "games.controllers[0][0].buttons"


def test_the_last_bit_of_an_attribute_is_reported(module, tmp_path):
    tables = load_tables().characters
    changed = bytearray(table_bytes(CHARACTERS, STAGES))
    characters = np.frombuffer(changed, tables.dtype, len(tables), offset=4)  # the first table
    characters["gravity"] = np.nextafter(characters["gravity"], 1.0)
    recording = record(3, 600)
    with Comparer(module, tmp_path, changed) as comparer:
        (result,) = results([recording], [comparer])
    assert 0 < result["difference"]["step"] < 600
    assert result["difference"]["field"].startswith("games.players[0]")


def test_the_committed_playthroughs_happen(module, tmp_path):
    script = gather(tmp_path, RULES_JS, HERE / "playthroughs.js")
    (tmp_path / "rules.wasm").write_bytes(module)
    (tmp_path / "tables").write_bytes(table_bytes(CHARACTERS, STAGES))
    games = playthrough.read()
    (tmp_path / "games.json").write_text(json.dumps([*map(_task, games)]))
    told = run_node(script, *(tmp_path / name for name in ("rules.wasm", "tables", "games.json")))
    committed = [[line.split()[-1] for line, _, _ in stretches] for *_, stretches in games]
    assert [json.loads(line) for line in told.splitlines()] == committed


def _task(game):
    left, right, stage, stretches = game
    arena = Arena(left, right, stage)
    names = ("games.game", "games.players", "games.memory")
    return {
        "start": {
            "characters": [CHARACTERS[left], CHARACTERS[right]],
            "stage": STAGES[stage],
            "options": MockMelee(1, max_episode_frames=2**31 - 1)._options()._asdict(),
        },
        "state": {name: array.tobytes().hex() for name, array in zip(names, arena.arrays, strict=False)},
        "stretches": [[frames, _decoded(actions)] for _, frames, actions in stretches],
    }


def _decoded(actions):
    controllers = records(CONTROLLER, 2)
    controller.decode(actions, controllers)
    return controllers.tobytes().hex()


def test_a_page_with_the_tables_of_one_game_plays_it(module, tmp_path):
    """The memory has the rows of the tables, which are others."""
    pair, stage = ("fox", "zelda"), "pokemon_stadium"
    tables = table_bytes((*pair, "sheik"), (stage,))  # Zelda becomes Sheik
    assert len(tables) < len(table_bytes(CHARACTERS, STAGES)) / 5
    with Comparer(module, tmp_path, tables) as comparer:
        (result,) = results([record(1, 900, without=("games.memory",), characters=pair, stage=stage)], [comparer])
    assert result["difference"] is None


def test_tables_are_chosen_by_name():
    with pytest.raises(UnknownNameError, match="unknown character 'fo'; did you mean 'fox'"):
        table_bytes(("fo",), ("battlefield",))
    with pytest.raises(UnknownNameError, match="unknown stage 'moon'"):
        table_bytes(("fox",), ("moon",))
    length = struct.unpack_from("<I", table_bytes(("fox", "zelda"), ("battlefield",)))[0]
    assert length == 2 * load_tables().characters.itemsize


USE = """
import { readFile } from "node:fs/promises";
import { loadRules } from "./rules.js";
const [module, tables, text] = await Promise.all(process.argv.slice(2).map((path) => readFile(path)));
const options = JSON.parse(text);
%s
const x = () => rules.get("games.players", 0, 0, "x"), first = x();
console.log(rules.get("games.chosen", 0, 0, "buttons"), rules.numbers("out.obs", 0, 1).length);
for (let frame = 1; frame < 60; frame++) rules.exports.live_step();
console.log(x() > first, rules.get("out.truncated", 0), rules.get("games.episode", 0, "frames"));
const game = { seed: 1n, characters: [1, 18], stage: 24, options }, skip = { frame_skip: 1 };
for (const wrong of [{ characters: [1, 2] }, { stage: 8 }, { stage: 99 }, { delay: [0, 64] }, { options: skip }])
  try { rules.start({ ...game, ...wrong }); } catch (error) { console.log(error.message); }
try { rules.hold([null, [3]]); } catch (error) { console.log(error.message); }
"""


def test_the_documented_page_plays(module, tmp_path):
    (block,) = re.findall("```js\n(.*?)```", (ROOT / "docs/melee/internals/browser_rules.md").read_text(), re.DOTALL)
    (tmp_path / "use.js").write_text(USE % block)
    (tmp_path / "rules.wasm").write_bytes(module)
    (tmp_path / "tables").write_bytes(table_bytes(("fox", "marth"), ("battlefield",)))
    (tmp_path / "options").write_text(json.dumps(MockMelee(1, max_episode_frames=60)._options()._asdict()))
    script = gather(tmp_path / "modules", RULES_JS, tmp_path / "use.js")
    told = run_node(script, *(tmp_path / name for name in ("rules.wasm", "tables", "options")))
    assert told.splitlines() == [
        f"2 {OBS_WIDTH}",
        "true 1 60",
        "character 2 has no tables",
        "stage 8 has no tables",
        "tables has no 99 in [stage_rows,99]",
        "a delay is 0 to 63 frames, not 0,64",
        "no value for options.bot_skip",
        "no controller can express the actions [null,[3]]",
    ]
