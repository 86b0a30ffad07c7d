"""From wherever a Dolphin is to the beginning of a game: libmelee's menu helper, and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from melee import Button, Character, Menu, MenuHelper, Stage

if TYPE_CHECKING:
    from envs.melee.dolphin.pad import Pad

STUCK: Final = 600  # frames on one screen after which a cursor that does not arrive is nudged
NUDGE: Final = 7  # frames that a nudge takes
_CHOICES: Final = (Menu.CHARACTER_SELECT, Menu.SLIPPI_ONLINE_CSS)


@dataclass(frozen=True, slots=True)
class Plan:
    """Who shall play on a port that we have a controller for."""

    pad: Pad
    character: int  # Melee's internal number
    cpu_level: int = 0  # 0: whoever holds the controller

    @property
    def port(self) -> int:
        """From 1, as libmelee counts."""
        return int(self.pad.controller.port)


class Menus:
    """Leads all ports through the menus; the first port presses what one presses for all.

    Args:
        plans: The first is of a port that is no computer player, where there is one.
        stage: Melee's internal number.
        start: Whether we start the game once everybody is ready; a person does it otherwise.
    """

    def __init__(self, plans: Sequence[Plan], stage: int, *, start: bool) -> None:
        self._plans = plans
        self._stage = Stage(stage)
        self._start = start
        self._helpers = [MenuHelper() for _ in plans]
        self._screen: Menu | None = None
        self._frames = 0  # on this screen

    def press(self, state: Any) -> None:  # noqa: ANN401 # melee.GameState
        """What to press on this frame of a menu."""
        self._frames = self._frames + 1 if state.menu_state is self._screen else 0
        self._screen = state.menu_state
        if self._screen in _CHOICES:
            self._choose_characters(state)
        elif self._screen is Menu.STAGE_SELECT:
            self._help(state, 0, autostart=True)
            for i in range(1, len(self._plans)):
                self._help(state, i, autostart=False)
        else:
            self._release()
            if self._screen is Menu.MAIN_MENU:
                self._help(state, 0, autostart=False)
            elif self._screen is not Menu.IN_GAME and self._frames % 2:  # the title, results: libmelee knows no way on
                self._plans[0].pad.controller.press_button(Button.BUTTON_START)

    def _choose_characters(self, state: Any) -> None:  # noqa: ANN401
        ready = self._start and all(_is_settled(plan, state.players[plan.port]) for plan in self._plans)
        for i, plan in enumerate(self._plans):
            if self._frames % STUCK > STUCK - NUDGE:
                # A cursor that stops exactly at the rim of its target would stay there for ever.
                plan.pad.release()
                plan.pad.controller.tilt_analog(Button.BUTTON_MAIN, 0.8, 0.7)
            else:
                self._help(state, i, autostart=ready and i == 0)

    def _help(self, state: Any, i: int, *, autostart: bool) -> None:  # noqa: ANN401
        plan = self._plans[i]
        self._helpers[i].menu_helper_simple(
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
    """Whether a port has its character, and its level; Sheik is chosen as Zelda and changes with the stage."""
    wanted = Character.ZELDA if plan.character == Character.SHEIK.value else Character(plan.character)
    return bool(player.character is wanted and player.coin_down and player.cpu_level == plan.cpu_level)
