"""From any menu to the beginning of a game, by libmelee's menu helper and additions to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from melee import Button, Character, ControllerStatus, Menu, MenuHelper, Stage

if TYPE_CHECKING:
    from selfplay_melee.dolphin.pad import Pad

STUCK: Final = 600  # frames on one screen after which a cursor that does not arrive is nudged
NUDGE: Final = 7  # frames that a nudge takes
WAIT: Final = 180  # frames in which a person can still change characters
AGAIN: Final = 240  # frames on the stage screen after which the stage is chosen again
_CHOICES: Final = (Menu.CHARACTER_SELECT, Menu.SLIPPI_ONLINE_CSS)
_SCREENS: Final = (*_CHOICES, Menu.STAGE_SELECT)  # with cursors


@dataclass(frozen=True, slots=True)
class Plan:
    """The player wanted on a port whose controller we hold."""

    pad: Pad
    character: int  # Melee's internal number
    cpu_level: int = 0  # 0: no computer player

    @property
    def port(self) -> int:
        """From 1, as libmelee counts."""
        return int(self.pad.controller.port)


class Menus:
    """Moves all ports through the menus; the first port makes the choices that hold for all.

    Args:
        plans: First that of a port without computer player, if there is one.
        stage: Melee's internal number.
        helper: libmelee's helper of this emulator.
        person: Whether a person plays, too. The person may start the game; after ``WAIT`` frames we do.
    """

    def __init__(self, plans: Sequence[Plan], stage: int, helper: MenuHelper, *, person: bool) -> None:
        self._plans = plans
        self._stage = Stage(stage)
        self._wait = WAIT if person else 0
        self._ready = 0  # frames for which all ports have been ready
        self._helper = helper
        self._screen: Menu | None = None
        self._frames = 0  # on this screen
        self.have_chosen = False

    def press(self, state: Any) -> bool:  # noqa: ANN401 # melee.GameState
        """Press the buttons for this frame of a menu; whether inputs must not be late from here on."""
        self._frames = self._frames + 1 if state.menu_state is self._screen else 0
        self._screen = state.menu_state
        state.frame = self._frames  # libmelee times button presses by it, and its own may start at any number
        if self._screen in _CHOICES:
            self._choose_characters(state)
        elif self._screen is Menu.STAGE_SELECT:
            self.have_chosen = True
            if self._frames % AGAIN == 0:
                self._helper.stage_selected = False
            self._help(state, 0, autostart=True)
            for i in range(1, len(self._plans)):
                self._help(state, i, autostart=False)
        else:
            self._release()
            if self._screen is Menu.MAIN_MENU:
                self._help(state, 0, autostart=False)
            elif self._screen is not Menu.IN_GAME and self._frames % 2:  # title, results: not in libmelee
                self._plans[0].pad.controller.press_button(Button.BUTTON_START)
        return self._frames == 0 and self._screen in _SCREENS

    def _choose_characters(self, state: Any) -> None:  # noqa: ANN401
        settled = all(_is_settled(plan, state.players[plan.port]) for plan in self._plans)
        self._ready = self._ready + 1 if settled and state.ready_to_start == 0 else 0
        start = settled and self._ready >= self._wait
        for i, plan in enumerate(self._plans):
            status = state.players[plan.port].controller_status
            if self._frames % STUCK > STUCK - NUDGE:
                # A cursor exactly at the rim of its target would never move again.
                plan.pad.release()
                plan.pad.controller.tilt_analog(Button.BUTTON_MAIN, 0.8, 0.7)
            elif not plan.cpu_level and status is ControllerStatus.CONTROLLER_CPU:
                self._make_human(state, plan)
            else:
                self._help(state, i, autostart=start and i == 0)

    def _make_human(self, state: Any, plan: Plan) -> None:  # noqa: ANN401
        """Turn a computer player of the previous game into a human; libmelee only supports the reverse."""
        controller = plan.pad.controller
        if not state.players[plan.port].is_holding_cpu_slider:
            self._helper.change_controller_status(controller, state, plan.port, ControllerStatus.CONTROLLER_HUMAN)
        else:
            plan.pad.release()
            if self._frames % 2:
                controller.press_button(Button.BUTTON_A)

    def _help(self, state: Any, i: int, *, autostart: bool) -> None:  # noqa: ANN401
        plan = self._plans[i]
        self._helper.menu_helper_simple(
            state,
            plan.pad.controller,
            Character(plan.character),
            self._stage,
            cpu_level=plan.cpu_level,
            autostart=autostart,
        )

    def _release(self) -> None:
        for plan in self._plans:
            plan.pad.release()


def _is_settled(plan: Plan, player: Any) -> bool:  # noqa: ANN401
    """Whether a port has its character and level. Sheik is chosen as Zelda and changes on the stage screen."""
    wanted = Character.ZELDA if plan.character == Character.SHEIK.value else Character(plan.character)
    right = player.character is wanted and player.cpu_level == plan.cpu_level
    return bool(right and player.coin_down and not player.is_holding_cpu_slider)
