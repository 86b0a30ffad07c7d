"""Hosts the play page of a run or policy, and keeps the games that are played on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from selfplay.compilation.progress import RANGE, Compilation
from selfplay.policy.policy import load_policy
from selfplay_melee.kinds import MOCK
from selfplay_melee.play.added_games import add_game
from selfplay_melee.play.server import Decisions, PlayServer
from selfplay_melee.play_page import NAMELESS
from selfplay_melee.play_page.page import play_page

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay_melee.play.home import Home
    from selfplay_melee.play_page.page import PlayContent


def host(
    home: Home,
    content: PlayContent,
    port: int,
    ready: Callable[[str], None],
    notice: Callable[[str], None],
    name: str = NAMELESS,
) -> None:
    """Host a page until Ctrl-C, and compile meanwhile the rules by which games are played again.

    ``content`` is made for a server, and ``port`` is as of ``PlayServer``.

    ``ready`` is called with the address once the page can be opened, ``notice`` with a line on each game that was kept.
    ``name`` is that of people who type none, in ratings.

    Raises:
        ConfigError: the port cannot be used.
        CheckpointError: a policy cannot be loaded.
    """
    compilation = None if MOCK.starts_at_once() or MOCK.prepare is None else Compilation(MOCK.prepare)
    remote = [one.id for one in content.opponents if one.bot is None and one.weights is None]
    policies = {name: load_policy(home.policies[name]) for name in remote}
    with PlayServer(Decisions(policies), keeper(home.run, notice, name), port) as server:
        server.page = play_page(replace(content, server=server.described)).encode()
        ready(server.address)
        if compilation is not None:
            notice(f"Compiling the game rules meanwhile, {RANGE}: ratings follow after it.")
        server.serve()
    if compilation is not None:
        compilation.wait(0)  # the program may end as usual if it is done


def keeper(
    run: RunDir | None, notice: Callable[[str], None], name: str = NAMELESS
) -> Callable[[bytes], dict[str, object]]:
    """Return the function with which a server keeps games (``add_game``); reports each to ``notice``."""

    def keep(document: bytes) -> dict[str, object]:
        added = add_game(run, document, name)
        notice(str(added))
        return {"message": str(added), "rated": added.why_not_rated is None}

    return keep
