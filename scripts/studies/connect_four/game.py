"""Connect Four of PettingZoo, with a scripted player that searches four plies and that training does not meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pettingzoo.classic import connect_four_v3

from scripts.studies.connect_four import alpha_beta

if TYPE_CHECKING:
    from pettingzoo import AECEnv

DEPTH: Final = 4


def make(render_mode: str | None = None) -> AECEnv:
    """The environment; ``--game-type scripts.studies.connect_four.game:make``."""
    env = connect_four_v3.env(render_mode=render_mode)
    env.unwrapped.players = {"alpha_beta": alpha_beta.player(DEPTH)}
    env.unwrapped.held_out = ("alpha_beta",)
    return env
