"""The stand-in through an unmodified libmelee: what a program sees that drives Dolphin."""

import dataclasses

import numpy as np
import pytest

from selfplay.games.errors import GameError
from selfplay_melee.bots import LADDER, NAMES
from selfplay_melee.controller import ACTION_SPEC, HIGHEST, decode
from selfplay_melee.errors import ReplayError
from selfplay_melee.mock import MockMelee
from selfplay_melee.replay import read_replay
from selfplay_melee.slp.container import find_stream
from selfplay_melee.slp.encode import encode
from selfplay_melee.state import CONTROLLER, records
from tests.melee.slp_files import REAL, file_bytes, needs_real_files, synthetic
from tests.support.fake_dolphin.disc import Disc
from tests.support.fake_dolphin.write import write_stand_in
from tests.support.fake_dolphin_tests.driving import Button, Character, Menu, Stage, melee, running
from tests.support.processes import LIMIT_S, finish

pytestmark = [pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"), pytest.mark.full]

STAGES = ("BATTLEFIELD", "FINAL_DESTINATION", "DREAMLAND", "POKEMON_STADIUM", "YOSHIS_STORY", "FOUNTAIN_OF_DREAMS")
SEED = 11


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_stand_in(tmp_path_factory.mktemp("a stand-in's"), Disc(seed=SEED), compiled=False)


@pytest.fixture
def made(tmp_path):
    return lambda compiled=False, **settings: write_stand_in(tmp_path / "stand_in", Disc(**settings), compiled=compiled)


def random_controllers(count, seed=0):
    """CONTROLLER [count, 1, 2]: actions at random, each held for a while, as ``decode`` gives them."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(0, HIGHEST + 1, (count // 5 + 1, 1, 2, ACTION_SPEC.width)).astype(np.int8)
    actions[..., : ACTION_SPEC.binary] &= rng.random((*actions.shape[:-1], ACTION_SPEC.binary)) < 0.2
    controllers = records(CONTROLLER, count, 1, 2)
    decode(np.repeat(actions, 5, axis=0)[:count], controllers)
    return controllers


def single(value):
    return float(np.float32(value))


def assert_same_player(console, seen, player):
    """What libmelee makes of a player: numbers of 32 bits, counters as whole numbers, some action frames from 1."""
    shown = {
        "x": seen.position.x,
        "y": seen.position.y,
        "percent": seen.percent,
        "shield": seen.shield_strength,
        "speed_air_x": seen.speed_air_x_self,
        "speed_ground_x": seen.speed_ground_x_self,
        "speed_y": seen.speed_y_self,
        "speed_attack_x": seen.speed_x_attack,
        "speed_attack_y": seen.speed_y_attack,
    }
    assert {name: float(value) for name, value in shown.items()} == {name: single(player[name]) for name in shown}
    from_one = player["action"] in console.zero_indices[int(player["character"])]
    assert (seen.action.value, seen.action_frame) == (player["action"], int(player["action_frame"]) + from_one)
    assert (seen.hitlag_left, seen.hitstun_frames_left) == (int(player["hitlag"]), int(player["hitstun"]))
    assert (seen.stock, seen.jumps_left, seen.facing) == (player["stocks"], player["jumps_left"], player["facing"] > 0)
    assert (seen.on_ground, seen.invulnerable) == (player["on_ground"] == 1, player["invulnerable"] == 1)
    assert seen.character.value == player["character"]


def assert_same_controller(seen, controller):
    for shown, x, y in ((seen.main_stick, "main_x", "main_y"), (seen.c_stick, "c_x", "c_y")):
        assert [float(v) for v in shown] == [float(controller[axis] / 2 + 0.5) for axis in (x, y)]
    assert float(seen.l_shoulder) == controller["shoulder"]
    held = sum(
        1 << i for i, name in enumerate(("A", "B", "X", "Y", "Z", "L", "R", "D_UP")) if seen.button[Button(name)]
    )
    assert held == controller["buttons"]


# ---- the program


@pytest.mark.parametrize(
    ("persona", "mainline", "build"),
    [
        ("exi_ai_mainline", True, "EXI_AI"),
        ("mainline", True, "NETPLAY"),
        ("ishiiruka", False, "NETPLAY"),
        ("exi_ai_ishiiruka", False, "EXI_AI"),
    ],
)
def test_libmelee_takes_it_for_the_dolphin_that_it_says_it_is(made, persona, mainline, build):
    program, _ = made(persona=persona)
    found = melee.console.get_dolphin_version(str(program))
    assert (found.mainline, found.build.name) == (mainline, build)


def test_ishiiruka_spells_its_settings_otherwise(made, tmp_path):
    with running(made(persona="ishiiruka"), save_replays=True, replay_dir=str(tmp_path / "replays")) as drive:
        drive.enter()
        drive.quit()
    (path,) = (tmp_path / "replays").glob("Game_*.slp")
    assert read_replay(path).complete


def test_mainline_without_a_screen(made):
    program, disc = made(persona="mainline")
    with running((program, disc), connect=False) as drive:
        drive.process.kill()
        drive.process.wait(LIMIT_S)
        drive.console.run(str(disc), platform="headless")
        drive.connect()
        assert drive.step().menu_state is Menu.MAIN_MENU


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"sed": 1}', "unknown setting 'sed'; did you mean 'seed'?"),
        ('{"pace": "fast"}', 'pace must be a number, got "fast"'),
        ('{"faults": [{"kind": "crsh"}]}', "did you mean 'crash'?"),
        ('{"human": "bob"}', "unknown scripted player 'bob'"),
    ],
)
def test_a_mistake_on_the_disc_is_one_line(files, tmp_path, text, line):
    disc = tmp_path / "disc.json"
    disc.write_text(text)
    with running((files[0], disc), connect=False) as drive:
        home = drive.console._get_dolphin_home_path()
        drive.process.kill()
        drive.process.wait(LIMIT_S)
        done = finish([files[0], "-e", disc, "-u", home])
    assert done.returncode == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1


def test_any_other_disc_means_the_defaults(files, tmp_path):
    image = tmp_path / "game.iso"
    image.write_bytes(bytes(range(256)) * 100)
    with running((files[0], image)) as drive:
        assert drive.enter()[0].frame == -123


def test_it_ends_when_it_is_told_to(files):
    with running(files) as drive:
        drive.step()
        drive.process.terminate()
        assert drive.process.wait(LIMIT_S) == 0


# ---- menus


def test_from_menu_to_game_on_every_stage_and_again(files):
    with running(files) as drive:
        for stage in (*STAGES, "RANDOM_STAGE"):
            state, menus = drive.enter(("SHEIK", "JIGGLYPUFF"), stage, frozen=stage != "DREAMLAND")
            assert state.frame == -123
            assert state.stage is Stage[stage] or stage == "RANDOM_STAGE"
            assert state.stage.name in STAGES
            assert [state.players[port].character for port in (1, 2)] == [Character.SHEIK, Character.JIGGLYPUFF]
            assert menus[-1].menu_state is Menu.STAGE_SELECT
            assert drive.quit(2).menu_state is Menu.CHARACTER_SELECT


def test_stadium_is_frozen_where_that_was_chosen(files):
    with running(files) as drive:
        for frozen in (False, True):
            drive.enter(stage="POKEMON_STADIUM", frozen=frozen)
            assert drive.console.is_frozen_ps is frozen
            drive.quit()


def test_two_controllers_in_the_last_ports(files):
    with running(files, ports=(3, 4)) as drive:
        state, _ = drive.enter(("FALCO", "GANONDORF"))
        assert [int(port) for port in state.players] == [3, 4]
        assert state.players[3].position.x < 0 < state.players[4].position.x


@pytest.mark.parametrize("level", [1, 7, 9])
def test_a_computer_player_of_a_level(files, level):
    with running(files) as drive:
        state, _ = drive.enter(("FOX", "MEWTWO"), levels={2: level})
        assert (state.players[1].cpu_level, state.players[2].cpu_level) == (0, level)
        game = MockMelee(1, characters=("fox", "mewtwo"), stage="battlefield", bot_skip=4, max_episode_frames=9999)
        game.reset(np.array([SEED]))
        game.bots[0, 1] = NAMES.index(LADDER[(level - 1) * len(LADDER) // 9])
        while state.frame < 0:
            state = drive.step()
        rest = np.array([[[0] * 8 + [8] * 4 + [0, 0]] * 2], np.int8)
        for _ in range(120):
            game.step(rest)
            state = drive.step()
            assert_same_player(drive.console, state.players[2], game.state.players[0, 1])
            assert_same_player(drive.console, state.players[1], game.state.players[0, 0])


def test_a_computer_player_at_a_port_without_a_controller(files):
    with running(files, ports=(1,)) as drive:
        while (state := drive.step()).menu_state is not Menu.IN_GAME:
            other = state.players.get(2)
            if state.menu_state is Menu.CHARACTER_SELECT and (
                other.controller_status is not melee.enums.ControllerStatus.CONTROLLER_CPU
                or other.character is not Character.MARTH
            ):
                drive.helper.change_controller_status(
                    drive.pads[1], state, 2, melee.enums.ControllerStatus.CONTROLLER_CPU, Character.MARTH
                )
            else:
                drive.helper.menu_helper_simple(state, drive.pads[1], Character.FOX, Stage.BATTLEFIELD, autostart=True)
        assert (state.players[2].character, state.players[2].cpu_level) == (Character.MARTH, 1)


def test_a_character_without_tables_cannot_be_put_down(files, capfd):
    with running(files) as drive:
        state, menus = drive.enter(("PEACH", "MARTH"), leave_after=150)
        assert state is None
    assert not menus[-1].players[1].coin_down
    assert menus[-1].players[2].coin_down
    assert "no tables for character 0x09" in capfd.readouterr().err


def test_zelda_becomes_sheik(files, capfd):
    with running(files) as drive:
        state, _ = drive.enter(("ZELDA", "MARTH"))
        assert state.players[1].character is Character.SHEIK
    assert "Sheik plays in her place" in capfd.readouterr().err


def test_a_person_plays_as_the_disc_says(made):
    kinds = {2: melee.ControllerType.GCN_ADAPTER}
    with running(made(human="walker", human_character="falco"), kinds=kinds) as drive:
        state, _ = drive.enter(("FOX",))
        assert state.players[2].character is Character.FALCO
        assert state.players[2].cpu_level == 0
        start = state.players[2].position.x
        while state.frame < 200:
            state = drive.step()
        assert state.players[2].position.x != start


# ---- games


def test_it_plays_what_the_mock_plays_and_in_step(files):
    """The input that was flushed after frame N leads to frame N+1, and inputs up to frame 0 to nothing."""
    frames = 200
    controllers = random_controllers(frames + 123)
    with running(files) as drive:
        for number in range(2):
            state, _ = drive.enter(("FOX", "MARTH"), "FOUNTAIN_OF_DREAMS")
            game = MockMelee(1, characters=("fox", "marth"), stage="fountain_of_dreams", max_episode_frames=1)
            game.reset(np.array([SEED]))
            for _ in range(number):
                game.play(controllers[:1])  # a game of one frame
            game.max_episode_frames = 99999
            game._games.episode["cap"] = 99999
            for row in controllers:
                for seat in range(2):
                    drive.send(seat + 1, row[0, seat])
                state = drive.step()
                if state.frame > 0:
                    game.play(row[None])
                for seat in range(2):
                    assert_same_controller(state.players[seat + 1].controller_state, row[0, seat])
                    assert_same_player(drive.console, state.players[seat + 1], game.state.players[0, seat])
                assert single(state.fod_platforms.left) == single((game.state.game["fountain_left"][0] - 1.125) / 0.75)
            assert state.frame == frames
            drive.quit()


def test_a_game_to_its_end_is_saved_as_it_was_shown(made, tmp_path):
    folder = tmp_path / "replays"
    with running(made(compiled=True), save_replays=True, replay_dir=str(folder)) as drive:
        state, _ = drive.enter(("CPTFALCON", "FALCO"), "YOSHIS_STORY")
        seen = []
        drive.send(1, left := records(CONTROLLER, 1)[0])
        left["main_x"] = -1.0
        while state.menu_state is Menu.IN_GAME:
            seen.append((state.frame, float(state.players[1].position.x), int(state.players[1].stock)))
            drive.send(1, left)
            state = drive.step()
        assert state.menu_state is Menu.UNKNOWN_MENU
        assert seen[-1][2] == 0
        assert drive.enter(("MARTH", "FOX"))[0].players[2].character is Character.FOX
    (path,) = folder.glob("Game_*.slp")
    replay = read_replay(path)
    assert replay.complete
    assert not replay.problems
    assert (replay.end.method, replay.end.placements) == (2, (1, 0))
    first = replay.state.players[:, 0]
    rows = zip(replay.state.game["frame"].tolist(), first["x"].tolist(), first["stocks"].tolist(), strict=True)
    assert list(rows) == seen


def test_who_quits_is_named(made, tmp_path):
    with running(made(), save_replays=True, replay_dir=str(tmp_path / "replays"), replay_monthly_folders=True) as drive:
        state, _ = drive.enter()
        while state.frame < 10:
            state = drive.step()
        drive.quit(2)
    (path,) = (tmp_path / "replays").glob("????-??/Game_*.slp")
    end = read_replay(path).end
    assert (end.method, end.lras_initiator) == (7, 1)


def test_start_stops_the_game_and_lets_it_go_on(files):
    with running(files) as drive:
        state, _ = drive.enter()
        while state.frame < 20:
            state = drive.step()
        pad = drive.pads[1]
        pad.press_button(Button.BUTTON_START)
        assert drive.step().frame == 21
        pad.release_button(Button.BUTTON_START)
        for _ in range(30):
            drive.flush()  # no frame is shown
        pad.press_button(Button.BUTTON_START)
        assert drive.step().frame == 22


def test_instant_match_restarts_at_once_and_infinite_time_never_ends(made):
    with running(made(), instant_match_restart=True) as drive:
        state, _ = drive.enter()
        while state.frame < 10:
            state = drive.step()
        assert drive.quit().frame == -123
    with running(made(), infinite_time=True) as drive:
        state, _ = drive.enter(("CPTFALCON", "FALCO"), "YOSHIS_STORY")
        left = records(CONTROLLER, 1)[0]
        left["main_x"] = -1.0
        deaths = 0
        while deaths < 5:
            drive.send(1, left)
            before, state = state, drive.step()
            dies = state.players[1].action.value <= 10 < before.players[1].action.value
            assert state.players[1].stock == 4
            deaths += dies


def test_lasers_are_items(files):
    with running(files) as drive:
        state, _ = drive.enter(("FALCO", "MARTH"), "FINAL_DESTINATION")
        shoot = records(CONTROLLER, 1)[0]
        found = []
        while state.frame < 60:
            shoot["buttons"] = 2 if state.frame % 20 == 0 else 0
            drive.send(1, shoot)
            state = drive.step()
            found += state.projectiles
    assert {item.type for item in found} == {melee.ProjectileType.FALCO_LASER}
    assert {int(item.owner) for item in found} == {1}
    assert found[0].position.x < found[1].position.x


def test_unblocked_pipes_are_waited_for_by_nobody(made):
    with running(made(pace=240.0), blocking_input=False) as drive:
        state = drive.step()
        for _ in range(5):
            later = drive.step()
        assert later.frame > state.frame


def test_it_runs_on_with_the_last_inputs_when_a_writer_goes(made):
    with running(made(pace=240.0)) as drive:
        state, _ = drive.enter()
        while state.frame < 0:
            state = drive.step()
        right = records(CONTROLLER, 1)[0]
        right["main_x"] = 0.5
        drive.send(1, right)
        drive.step()
        drive.console.controllers.clear()
        for pad in drive.pads.values():
            pad.disconnect()
        later = [drive.step() for _ in range(20)]
        assert [float(s.players[1].controller_state.main_stick[0]) for s in later[-10:]] == [0.75] * 10


def test_frames_that_were_sent_wrong_are_sent_again(made, tmp_path):
    """libmelee shows the first version; the last one in the file is the true one, and inputs stay in step."""
    controllers = random_controllers(300)
    game = MockMelee(1, characters=("fox", "marth"), stage="battlefield", max_episode_frames=9999)
    game.reset(np.array([0]))
    with running(made(rollback_every=7), save_replays=True, replay_dir=str(tmp_path / "replays")) as drive:
        state, _ = drive.enter()
        played = []
        for row in controllers:
            for seat in range(2):
                drive.send(seat + 1, row[0, seat])
            state = drive.step()
            if state.frame > 0:
                game.play(row[None])
                played.append(game.state.players[0].copy())
        while (drive.state.frame + 124) % 7 != 1:  # START counts on frames that are sent once
            drive.step()
        drive.quit()
    (path,) = (tmp_path / "replays").glob("Game_*.slp")
    replay = read_replay(path)
    assert replay.rolled_back.sum() > 40
    assert not replay.problems
    shown = replay.state.players[124 : 124 + len(played)]
    assert np.array_equal(shown["x"], np.stack(played)["x"].astype(np.float32))
    assert np.array_equal(shown["action"], np.stack(played)["action"])


# ---- a file in place of a game


def everything(state):
    """All that libmelee tells of a frame."""
    players = {
        int(port): (
            *(float(v) for v in (p.position.x, p.position.y, p.percent, p.shield_strength, p.speed_y_self)),
            *(p.character, p.action, p.action_frame, int(p.stock), p.facing, p.on_ground, p.hitlag_left),
            *map(float, (*p.controller_state.main_stick, *p.controller_state.c_stick, p.controller_state.l_shoulder)),
            *p.controller_state.button.values(),
            p.nana is None,
        )
        for port, p in state.players.items()
    }
    items = [(i.type, float(i.position.x), float(i.position.y), int(i.owner)) for i in state.projectiles]
    return int(state.frame), state.stage, players, items, repr(state.fod_platforms)


def states_of(path, count):
    """Frames that libmelee reads from a file."""
    console = melee.Console(path=str(path), is_dolphin=False)
    assert console.connect()
    return [everything(console.step()) for _ in range(count)]


@needs_real_files
@pytest.mark.parametrize("name", ["falco_falco_YS_v3.15_rollback", "marth_falconcpu_FoD_v3.18"])
def test_a_real_file_is_served_as_it_is(made, name):
    path = REAL / f"{name}.slp"
    with running(made(replay=str(path))) as drive:
        served = []
        while (state := drive.step()).menu_state is Menu.IN_GAME and len(served) < 1000:
            served.append(everything(state))
    assert served[0][0] == -123
    assert len(served) > 500
    assert served == states_of(path, len(served))


def test_a_file_is_served_to_its_end_and_again(made, tmp_path):
    file_bytes(tmp_path, synthetic())
    (tmp_path / "made.slp").rename(tmp_path / "served.slp")
    options = {"save_replays": True, "replay_dir": str(tmp_path / "replays")}
    with running(made(replay=str(tmp_path / "served.slp")), **options) as drive:
        for _ in range(2):
            state, _ = drive.enter()
            seen = [everything(state)]
            while (state := drive.step()).menu_state is Menu.IN_GAME:
                seen.append(everything(state))
            assert state.menu_state is Menu.UNKNOWN_MENU
            assert seen == states_of(tmp_path / "served.slp", len(seen))
    first, second = (find_events(path) for path in (tmp_path / "replays").glob("Game_*.slp"))
    assert first == second == find_events(tmp_path / "served.slp")


def find_events(path):
    data = path.read_bytes()
    stream = find_stream(data)
    return data[stream.begin : stream.end]


def test_a_file_that_cannot_be_served(made, tmp_path):
    (tmp_path / "bad.slp").write_bytes(b"nothing")
    with pytest.raises(ReplayError, match=r"bad\.slp: byte 0: not a \.slp file"):
        made(replay=str(tmp_path / "bad.slp"))
    path = tmp_path / "old.slp"
    path.write_bytes(encode(dataclasses.replace(synthetic(), version=(2, 0, 0))))
    with pytest.raises(GameError, match=r"version 2\.0\.0 cannot be served"):
        made(replay=str(path))
