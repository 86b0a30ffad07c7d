"""The way through the menus, beside what libmelee's helper does by itself."""

import pytest

melee = pytest.importorskip("melee", reason="needs libmelee (the extra dolphin)")
from melee import Button, Character, ControllerStatus, GameState, Menu, PlayerState, Stage  # noqa: E402

from selfplay_melee.dolphin.menus import AGAIN, NUDGE, STUCK, WAIT, Menus, Plan  # noqa: E402

FOX, MARTH, SHEIK = Character.FOX.value, Character.MARTH.value, Character.SHEIK.value
NOWHERE = (0.5, 0.5)


class Controller:
    """A controller of libmelee's without a pipe."""

    def __init__(self, port):
        self.port = port
        self.release_all()
        self.flush()

    def release_all(self):
        self.held, self.stick = set(), NOWHERE

    def press_button(self, button):
        self.held.add(button)

    def release_button(self, button):
        self.held.discard(button)

    def tilt_analog(self, button, x, y):
        self.stick = (x, y)

    def flush(self):
        self.prev = melee.controller.ControllerState()
        for button in self.held:
            self.prev.button[button] = True


class Pad:
    def __init__(self, port):
        self.controller = Controller(port)

    def release(self):
        self.controller.release_all()


class Screen:
    """Menus of one game and what they are shown."""

    def __init__(self, characters=(FOX, MARTH), levels=(0, 0), stage=Stage.BATTLEFIELD, person=False):
        self.pads = [Pad(1), Pad(2)]
        plans = [Plan(*plan) for plan in zip(self.pads, characters, levels, strict=True)]
        self.helper = melee.MenuHelper()
        self.menus = Menus(plans[:1] if person else plans, stage.value, self.helper, person=person)
        self.players = {port: PlayerState() for port in (1, 2)}
        self.ready = False

    def show(self, screen, frames=1, number=500, **players):
        """What the first port held on each of some frames; the game's own numbers of frames are of no use."""
        held = []
        for _ in range(frames):
            state = GameState()
            state.menu_state, state.frame, state.players = screen, number, self.players
            state.ready_to_start = 0 if self.ready else 1
            state.submenu = melee.SubMenu.MAIN_MENU_SUBMENU
            self.must_not_be_late = self.menus.press(state)
            held.append((frozenset(self.pads[0].controller.held), self.pads[0].controller.stick))
            for pad in self.pads:
                pad.controller.flush()
        return held

    def choose(self, *characters):
        """Coins are put down."""
        for port, character in enumerate(characters, 1):
            player = self.players[port]
            player.character, player.coin_down = character, True


def pressed(shown, button):
    """How often a button went down."""
    down = [button in held for held, _ in shown]
    return sum(now and not before for before, now in zip([False, *down], down, strict=False))


@pytest.mark.parametrize("screen", [Menu.PRESS_START, Menu.UNKNOWN_MENU, Menu.POSTGAME_SCORES])
def test_start_leads_on_where_libmelee_knows_no_way(screen):
    assert pressed(Screen().show(screen, 20), Button.BUTTON_START) == 10


def test_nothing_is_pressed_while_a_game_loads():
    shown = Screen().show(Menu.IN_GAME, 20)
    assert all(held == (frozenset(), NOWHERE) for held in shown)


def test_the_main_menu_is_walked_although_its_frames_have_no_numbers():
    shown = Screen().show(Menu.MAIN_MENU, 20, number=0)
    assert (0.5, 0) in [stick for _, stick in shown]


def test_the_game_starts_once_both_are_settled_and_the_game_says_so():
    screen = Screen()
    screen.choose(Character.FOX)
    assert pressed(screen.show(Menu.CHARACTER_SELECT, 30), Button.BUTTON_START) == 0
    screen.choose(Character.FOX, Character.MARTH)
    assert pressed(screen.show(Menu.CHARACTER_SELECT, 30), Button.BUTTON_START) == 0
    screen.ready = True
    assert pressed(screen.show(Menu.CHARACTER_SELECT, 30), Button.BUTTON_START) > 5


def test_who_holds_the_slider_is_not_settled():
    screen = Screen(levels=(0, 5))
    screen.choose(Character.FOX, Character.MARTH)
    player = screen.players[2]
    player.controller_status, player.cpu_level, player.is_holding_cpu_slider = ControllerStatus.CONTROLLER_CPU, 5, True
    screen.ready = True
    assert pressed(screen.show(Menu.CHARACTER_SELECT, 30), Button.BUTTON_START) == 0
    player.is_holding_cpu_slider = False
    assert pressed(screen.show(Menu.CHARACTER_SELECT, 30), Button.BUTTON_START) > 5


def test_sheik_is_settled_as_zelda():
    screen = Screen(characters=(SHEIK, MARTH))
    screen.choose(Character.ZELDA, Character.MARTH)
    screen.ready = True
    assert pressed(screen.show(Menu.CHARACTER_SELECT, 30), Button.BUTTON_START) > 5
    screen.helper.stage_selected = True
    screen.menus._frames = 1
    screen.menus._screen = Menu.STAGE_SELECT
    assert all(Button.BUTTON_A in held for held, _ in screen.show(Menu.STAGE_SELECT, 10))


def test_a_person_has_time_to_choose_anew():
    screen = Screen(person=True)
    screen.choose(Character.FOX, Character.MARTH)
    screen.ready = True
    assert pressed(screen.show(Menu.CHARACTER_SELECT, WAIT - 1), Button.BUTTON_START) == 0
    assert pressed(screen.show(Menu.CHARACTER_SELECT, 20), Button.BUTTON_START) > 5


def test_a_cursor_that_does_not_arrive_is_nudged():
    shown = Screen().show(Menu.CHARACTER_SELECT, 2 * STUCK)
    nudges = [stick == (0.8, 0.7) for _, stick in shown]
    assert sum(nudges) == 2 * (NUDGE - 1)
    assert not any(nudges[: STUCK - NUDGE])


def test_a_computer_player_of_the_game_before_gives_way():
    screen = Screen()
    screen.choose(Character.FOX, Character.MARTH)
    player = screen.players[1]
    player.controller_status, player.is_holding_cpu_slider = ControllerStatus.CONTROLLER_CPU, True
    shown = screen.show(Menu.CHARACTER_SELECT, 20)
    assert pressed(shown, Button.BUTTON_A) > 5  # lets go of the slider
    player.is_holding_cpu_slider = False
    assert screen.show(Menu.CHARACTER_SELECT, 1)[0][1] != NOWHERE  # on the way to the door
    player.cursor.x, player.cursor.y = -31.5, -2.2
    assert pressed(screen.show(Menu.CHARACTER_SELECT, 20), Button.BUTTON_A) > 5


def test_stadium_is_frozen_once_for_all_games_of_an_emulator():
    screen = Screen(stage=Stage.POKEMON_STADIUM)
    for player in screen.players.values():
        player.cursor.x, player.cursor.y = 15, 3.5
    shown = screen.show(Menu.STAGE_SELECT, 120)
    assert (pressed(shown, Button.BUTTON_Z), pressed(shown, Button.BUTTON_A)) == (1, 1)
    plans = [Plan(pad, FOX) for pad in screen.pads]
    screen.menus = Menus(plans, Stage.POKEMON_STADIUM.value, screen.helper, person=False)
    shown = screen.show(Menu.STAGE_SELECT, 120)
    assert (pressed(shown, Button.BUTTON_Z), pressed(shown, Button.BUTTON_A)) == (0, 1)


def test_a_stage_that_was_not_taken_is_chosen_again():
    screen = Screen()
    for player in screen.players.values():
        player.cursor.x, player.cursor.y = 1, -9
    assert pressed(screen.show(Menu.STAGE_SELECT, AGAIN), Button.BUTTON_A) == 1
    assert pressed(screen.show(Menu.STAGE_SELECT, 60), Button.BUTTON_A) == 1


def test_inputs_must_not_be_late_where_there_are_cursors():
    screen = Screen()
    assert not screen.menus.have_chosen
    for menu, wanted in ((Menu.MAIN_MENU, False), (Menu.CHARACTER_SELECT, True), (Menu.STAGE_SELECT, True)):
        screen.show(menu)
        assert screen.must_not_be_late == wanted
        screen.show(menu)
        assert not screen.must_not_be_late
    assert screen.menus.have_chosen
