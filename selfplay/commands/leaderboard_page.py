"""The page of a run: its ratings and training, with the most notable of its rated games played again, or read."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from selfplay.checkpoint import RunDir, list_generations
from selfplay.cli.game_type import training_of
from selfplay.commands.exact import exact_part
from selfplay.commands.notable_games import Ended, Notable, after_steps, notable, rated
from selfplay.commands.replay import StepReplayer
from selfplay.commands.run_status import NEWEST, examine
from selfplay.config.resume import type_in
from selfplay.errors import ConfigError, IncompatibleError, SelfPlayError
from selfplay.games.errors import GameError
from selfplay.games.kind import GameKind
from selfplay.games.registry import DEFAULT, find_kind
from selfplay.league.ledger import read_records
from selfplay.report.leaderboard_page.page import PageContent, PageReplay, stepper, write_page
from selfplay.report.leaderboard_page.records import RunRecords
from selfplay.report.leaderboard_page.tree import tree_section
from selfplay.report.ticker import time_left
from selfplay.report.tree import counted
from selfplay.run.trainings import find_training

if TYPE_CHECKING:
    from selfplay.league.leaderboard import LeaderboardAnalysis
    from selfplay.report.standalone_page import PagePart

Added = Callable[[list[PageReplay]], object]  # called with the games so far
NOT_ALL: Final = "Games are still being replayed. Reload this page to see more."
PATIENCE: Final = 4  # games that are tried in vain before it is clear that this version plays none of the run's again


@dataclass(frozen=True, slots=True)
class Show:
    """How the page of a run shows games of a kind, see ``GameKind.show``."""

    part: PagePart  # its script gives ``showGames`` of ``view/main.js`` what opens a game
    replayer: Callable[[RunDir], Callable[[Notable], PageReplay]]
    """What plays games of a run again; it, and what it returns, raise IncompatibleError where that is not possible."""
    ended: Ended
    agreed: str  # with the ledger, of each game that is shown: a part of a sentence
    none: str  # a sentence, where no game of a generation is worth watching
    play_pages: Callable[[RunDir, Sequence[str], Path, Callable[[str], None]], dict[str, Path]] | None = None
    """Writes pages in a folder, on which people play against generations; their paths by generation."""


def write_run(
    folder: Path, study: LeaderboardAnalysis, path: Path, notice: Callable[[str], None], *, play: bool = False
) -> str:
    """Write the page of a run at once, and again with each game that was played again; a line that says so.

    ``notice`` is called with a line before each step that takes a while, and with the reasons where no game is shown.
    With ``play`` each kept generation of the table has a play page, too, in a folder beside the page.
    """
    run, records, about = RunDir(folder), RunRecords.of(folder), ""
    game = type_in(records.run.get("config")) or DEFAULT
    view = find_training(training_name(game, records.run.get("config"))).view(folder, game)
    show = show_of(game)
    content = PageContent(folder.resolve().name, study, records, view, part=show.part, tree=_tree(run))
    if play and show.play_pages is None:
        raise ConfigError(f"--play: {game} is not played on pages")
    if view.reading is not None:
        return _written(content, path, notice)
    _growing(content, path)
    content = replace(content, exact=exact_part(run, game))
    if play and show.play_pages is not None:
        beside = path.with_name(f"{path.stem}_play")
        pages = show.play_pages(run, _shown(run, study), beside, notice)
        links = {player: quote(str(page.relative_to(path.parent))) for player, page in pages.items()}
        content = replace(content, play=links)
        size = sum(page.stat().st_size for page in pages.values())
        about = f", and {counted(len(pages), 'play page')} in {beside.name} ({size / 1e6:.1f} MB)"
    replays, notes = replays_of(run, study, show, notice, _growing(content, path))
    return _written(replace(content, replays=replays, notes=notes), path, notice) + about


def _tree(run: RunDir) -> str:
    """The supervision tree, as HTML; empty if it cannot be read."""
    with suppress(SelfPlayError):
        return tree_section(examine(run, NEWEST))
    return ""


def training_name(game: str, config: object) -> str:
    """Name of the training of a run; that of PPO is known by its settings, without loading a game of one's own."""
    return "ppo" if isinstance(config, dict) and "ppo" in config else training_of(game)


def show_of(game: str) -> Show:
    """How games of that name are shown, step by step by default."""
    try:
        kind = find_kind(game)
    except GameError:  # what plays the games again says why
        return _steps()
    return _steps() if not isinstance(kind, GameKind) or kind.show is None else kind.show()


def _shown(run: RunDir, study: LeaderboardAnalysis) -> list[str]:
    """The generations that the table shows and the run keeps."""
    kept = {generation.id for generation in list_generations(run)}
    shown = [row.policy for row in study.board.top() if row.policy in kept]
    if not shown:
        raise ConfigError(f"--play: {run.path} keeps no generation that its leaderboard shows")
    return shown


def _growing(content: PageContent, path: Path) -> Added:
    """Write the page without games, and return what writes it with the games so far."""

    def added(replays: list[PageReplay]) -> None:
        write_page(replace(content, replays=replays, notes=(NOT_ALL,)), path)

    added([])
    return added


def _written(content: PageContent, path: Path, notice: Callable[[str], None]) -> str:
    if not content.replays:
        for note in content.notes:
            notice(note)
    return f"{path} ({write_page(content, path) / 1e6:.1f} MB)"


def replays_of(
    run: RunDir, study: LeaderboardAnalysis, show: Show, notice: Callable[[str], None], added: Added = lambda _: None
) -> tuple[list[PageReplay], list[str]]:
    """The most notable game of each kind that plays as its row says, and what is to be said about the others."""
    rows = list(read_records(run.ledger)) if run.ledger.exists() else []
    kinds = notable(rated(rows, study.ratings, study.board.settings, show.ended), study.ratings, show.ended)
    if not kinds:
        return [], [show.none]
    try:
        again = show.replayer(run)
    except (IncompatibleError, GameError) as error:
        return [], [f"No rated game can be played again: {error}"]
    return _played_again(kinds, again, notice, added, show.agreed)


def _stepper(run: RunDir) -> Callable[[Notable], PageReplay]:
    replayer = StepReplayer(run)

    def again(one: Notable) -> PageReplay:
        game = replayer.steps(one.game)
        left_out = f" The first {counted(game['first'], 'step')} are left out here."
        return PageReplay(one.kind, one.why + left_out * (game["first"] > 0), "", game)

    return again


def _steps() -> Show:
    return Show(
        part=stepper(),
        replayer=_stepper,
        ended=after_steps,
        agreed="the result agrees",
        none="No game of a generation was rated.",
    )


def _played_again(
    kinds: list[list[Notable]],
    again: Callable[[Notable], PageReplay],
    notice: Callable[[str], None],
    added: Added,
    agreed: str,
) -> tuple[list[PageReplay], list[str]]:
    """The first game of each kind that ``again`` can show, and what is to be said about the others."""
    found: dict[str, PageReplay] = {}
    failed: dict[str, str] = {}
    started = time.monotonic()
    for number, candidates in enumerate(kinds):
        for one in candidates:
            match = one.game.match
            if (len(failed) >= PATIENCE and not found) or match in failed or match in found:
                continue
            left = time_left(time.monotonic() - started, number, len(kinds))
            notice(f"playing {match} again: {one.kind.lower()} ({number + 1} of {len(kinds)}{left})")
            try:
                found[match] = again(one)
            except IncompatibleError as error:
                failed[match] = str(error)
                continue
            added(list(found.values()))
            break
    missing = [kind[0].kind for kind in kinds if kind[0].kind not in {replay.kind for replay in found.values()}]
    return list(found.values()), _notes(failed, missing, agreed if found else "")


def _notes(failed: dict[str, str], missing: list[str], agreed: str) -> list[str]:
    notes = []
    if agreed:
        notes.append(f"Each game was played again from its seed by the same weights, and {agreed} with the ledger.")
    if missing:
        notes.append(f"Nothing to show for: {', '.join(missing).lower()}.")
    if failed:
        match, why = next(iter(failed.items()))
        notes.append(f"{len(failed)} of the games tried cannot be shown. {match}: {why}.")
    return notes
