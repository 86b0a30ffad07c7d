"""The description of a plain game, which has no ``GameKind`` of its own or one that only adds to this."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from selfplay.games.array_game import ArrayGame, SingleGame
from selfplay.games.columns import Column, Columns
from selfplay.games.errors import GameError, UnknownNameError, error_context
from selfplay.games.kind import GameKind
from selfplay.games.objective import declared, given_by
from selfplay.games.rated import RatedGame, ScriptedPlayer
from selfplay.games.vector import RANDOM, SyncVectorGame, repeats_itself

if TYPE_CHECKING:
    from selfplay.games.game import Game


def kind_of(game: Callable[..., Game], **more: Any) -> GameKind:  # noqa: ANN401
    """The description of a game for a package that adds to it, such as settings or verbs.

    Args:
        game: A class at the top level of a module, or a function there. Its parameters are the options of the game,
            and have defaults.
        **more: Fields of ``GameKind``.
    """

    def make(num_games: int, **options: Any) -> SyncVectorGame:  # noqa: ANN401
        return SyncVectorGame(partial(game, **options), num_games)

    return described(f"{game.__module__}:{game.__qualname__}", make, lambda render=True: game(), **more)


def described(name: str, make: Callable[..., Any], single: Any = None, **more: Any) -> GameKind:  # noqa: ANN401
    """The description of a game by its name, from one that is made. Scripted players are rated in their order.

    Args:
        name: For messages, and in the versions of rated games.
        make: See ``GameKind.make``.
        single: See ``GameKind.single``; None of games that are only made in blocks; that of an ``ArrayGame`` is found.
        **more: Other fields of ``GameKind``.

    Raises:
        GameError: it has not what a trainer needs.
    """
    with error_context(f"--game-type {name}"):
        block = make(num_games=1)
        if isinstance(block, ArrayGame):
            single = lambda render=True: SingleGame(make)  # noqa: E731
        width, actions, players, seats = block.obs_width, block.actions, tuple(block.bot_names), block.num_seats
        block.close()
        if seats != 2 or RANDOM not in players:
            raise GameError(
                f"it has {seats} seats and the scripted players {', '.join(players) or 'none'}; "
                f"2 seats and a player {RANDOM!r} are needed"
            )
        repeats = getattr(block, "repeats", True) if single is None else repeats_itself(partial(single, False))
    game = block.games[0] if isinstance(block, SyncVectorGame) else block
    version, held_out = getattr(game, "version", 1), tuple(getattr(game, "held_out", ()))
    if strangers := set(held_out) - set(players):
        raise UnknownNameError(f"held_out player of {name}", min(strangers), players)
    figures = [(each, each.replace("_", " ")) for each in getattr(game, "figures", ())]
    found = {
        "make": make,
        "obs_width": width,
        "actions": actions,
        "encoder_version": version,
        "ladder": players,
        "rated": RatedGame(
            {player: ScriptedPlayer(f"{version}") for player in players}, {"game": name, "version": version}
        ),
        "held_out": held_out,
        "declared": declared(name, **given_by(game)),
        "columns": Columns(tuple(Column(each, label, chart=label.capitalize()) for each, label in figures)),
        "single": single,
        "repeats": repeats,
    }
    return GameKind(**found | more)
