"""Replays rated fights as films: all counts at the end must equal those in the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from selfplay.commands.leaderboard_page import Show
from selfplay.commands.replay import BECAUSE, Replayer
from selfplay.errors import IncompatibleError
from selfplay.league.schedule import Matchup
from selfplay.report.leaderboard_page.page import PageReplay
from selfplay.report.tree import counted
from selfplay.verbs import quoted, respelled
from selfplay_melee.commands.watch import recorded
from selfplay_melee.drawing.story import clock
from selfplay_melee.facts import fight_facts
from selfplay_melee.show.page import end_document, player
from selfplay_melee.state import FPS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from selfplay.checkpoint import RunDir
    from selfplay.commands.notable_games import Notable
    from selfplay.league.records import GameRecord
    from selfplay_melee.drawing.film import Film

LONGEST_S: Final = 150.0  # maximum length of a game on a page in seconds; longer games are cut at the start


class FilmReplayer(Replayer):
    """Plays fights of a run's ledger again."""

    def film(self, game: GameRecord) -> Film:
        """The film of a game that was rated; IncompatibleError if it cannot be played again as it was. Blocks."""
        players, rules = self.players_of(game), self.settings.rules
        first, second = game.seats
        matchup = Matchup((first.player, second.player), fight_facts(game).characters, game.seed)
        film, stats = recorded(matchup, players, rules, f"rated game {game.match}", matchup.players)
        _compare(game, stats)
        return film


def _compare(game: GameRecord, stats: NDArray[np.void]) -> None:
    facts = fight_facts(game)
    found = (tuple(int(s["stocks"]) for s in stats), tuple(float(s["percent"]) for s in stats), int(stats[0]["frames"]))
    if found != (facts.stocks, facts.percents, game.steps):
        (one, other), _, frames = found
        mine, others = facts.stocks
        raise IncompatibleError(
            f"played again it ends {one}-{other} after {frames:,} frames, not {mine}-{others} after "
            f"{game.steps or 0:,}: {BECAUSE}"
        )


def ended(game: GameRecord) -> str | None:
    """How a fight ended that a player won by taking all stocks; None of others, which are long and show little."""
    facts = fight_facts(game)
    if not facts.finished or not any(facts.stocks):  # both may lose their last stock in one frame
        return None
    return f" with {counted(max(facts.stocks), 'stock')} left after {clock((game.steps or 0) / FPS)}"


def _replayer(run: RunDir) -> Callable[[Notable], PageReplay]:
    replayer = FilmReplayer(run)

    def again(one: Notable) -> PageReplay:
        command = respelled("selfplay watch") + f" {quoted(run.path)} --game {one.game.match}"
        document, cut_s = end_document(replayer.film(one.game), LONGEST_S)
        left_out = f" The first {cut_s:.0f} seconds are left out here." if cut_s > 0.1 else ""
        return PageReplay(one.kind, one.why + left_out, command, document)

    return again


def _play_pages(
    run: RunDir, generations: Sequence[str], folder: Path, notice: Callable[[str], None]
) -> dict[str, Path]:
    from selfplay_melee.play.content import write_play_pages  # the rules for browsers take a while to load

    return write_play_pages(run, generations, folder, notice)


def show() -> Show:
    """How the page of a run shows fights."""
    return Show(
        part=player("h3", "board.js"),
        replayer=_replayer,
        ended=ended,
        agreed="stocks, percents and length at its end agree",
        none="No rated game of a generation was finished: none ended because a player was out of stocks.",
        play_pages=_play_pages,
    )
