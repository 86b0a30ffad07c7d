"""The page of a run: its ratings and training, with the most notable of its rated games played again, or read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from selfplay.checkpoint import RunDir, list_generations
from selfplay.dialogue.report.transcripts import read_transcripts
from selfplay.errors import ConfigError, IncompatibleError
from selfplay.games.errors import GameError
from selfplay.league.ledger import read_records
from selfplay.report.leaderboard_page.page import LONGEST_S, PageContent, PageReplay, write_page
from selfplay.report.leaderboard_page.records import RunRecords
from selfplay.report.ticker import time_left
from selfplay.report.tree import counted
from selfplay.verbs import quoted, respelled
from selfplay_melee.commands.notable_games import Notable, notable, rated
from selfplay_melee.commands.replay import Replayer, StepReplayer
from selfplay_melee.show.page import end_document

if TYPE_CHECKING:
    from selfplay.league.leaderboard import LeaderboardAnalysis

Added = Callable[[list[PageReplay]], object]  # called with the games so far
NOT_ALL: Final = "Games are still being replayed. Reload this page to see more."
PATIENCE: Final = 4  # games that are tried in vain before it is clear that this version plays none of the run's again


def write_run(
    folder: Path, study: LeaderboardAnalysis, path: Path, notice: Callable[[str], None], *, play: bool = False
) -> str:
    """Write the page of a run at once, and again with each game that was played again; a line that says so.

    ``notice`` is called with a line before each step that takes a while, and with the reasons where no game is shown.
    With ``play`` each kept generation of the table has a play page, too, in a folder beside the page.

    Raises:
        CheckpointError: a generation cannot be loaded.
        ConfigError: a page cannot be written, or there are no policies for play pages.
        LeagueError: the ledger cannot be read.
    """
    name, records = folder.resolve().name, RunRecords.of(folder)
    if study.board.finished is None:
        if play:
            raise ConfigError("--play is for fights")
        talks = read_transcripts(folder)
        if talks or records.is_dialogue:
            return _written(PageContent(name, study, records, transcripts=talks), path, notice)
        content = PageContent(name, study, records, stepped=True)
        found = steps_of(RunDir(folder), study, notice, _growing(content, path))
        return _written(replace(content, replays=found[0], notes=found[1]), path, notice)
    run, about = RunDir(folder), ""
    content = PageContent(name, study, records)
    if play:
        _growing(content, path)
        pages = _play_pages(run, study, path.with_name(f"{path.stem}_play"), notice)
        links = {player: quote(str(page.relative_to(path.parent))) for player, page in pages.items()}
        content = replace(content, play=links)
        size = sum(page.stat().st_size for page in pages.values())
        about = f", and {counted(len(pages), 'play page')} in {path.stem}_play ({size / 1e6:.1f} MB)"
    replays, notes = replays_of(run, study, notice, _growing(content, path))
    return _written(replace(content, replays=replays, notes=notes), path, notice) + about


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


def _play_pages(
    run: RunDir, study: LeaderboardAnalysis, folder: Path, notice: Callable[[str], None]
) -> dict[str, Path]:
    """Play pages of the generations that the table shows and the run keeps, by player."""
    from selfplay_melee.play.content import write_play_pages  # the rules for browsers take a while to load

    kept = {generation.id for generation in list_generations(run)}
    shown = [row.policy for row in study.board.top() if row.policy in kept]
    if not shown:
        raise ConfigError(f"--play: {run.path} keeps no generation that its leaderboard shows")
    return write_play_pages(run, shown, folder, notice)


def replays_of(
    run: RunDir, study: LeaderboardAnalysis, notice: Callable[[str], None], added: Added = lambda _: None
) -> tuple[list[PageReplay], list[str]]:
    """The most notable game of each kind that plays as its row says, and what is to be said about the others."""
    board = study.board
    games = rated(list(read_records(run.ledger)) if run.ledger.exists() else [], study.ratings, board.settings)
    kinds = notable(games, study.ratings)
    if not kinds:
        return [], ["No rated game of a generation was finished: none ended because a player was out of stocks."]
    try:
        replayer = Replayer(run)
    except IncompatibleError as error:
        return [], [f"No rated game can be played again: {error}"]

    def show(one: Notable) -> PageReplay:
        command = respelled("selfplay watch") + f" {quoted(run.path)} --game {one.game.match}"
        return PageReplay(one.kind, one.why, command, *end_document(replayer.film(one.game), LONGEST_S))

    return _played_again(kinds, show, notice, added, "and stocks, percents and length at its end agree")


def steps_of(
    run: RunDir, study: LeaderboardAnalysis, notice: Callable[[str], None], added: Added = lambda _: None
) -> tuple[list[PageReplay], list[str]]:
    """``replays_of`` a run of a game that is no fight, step by step."""
    rows = list(read_records(run.ledger)) if run.ledger.exists() else []
    games = rated(rows, study.ratings, study.board.settings)
    if not games:
        return [], ["No game of a generation was rated."]
    try:
        replayer = StepReplayer(run)
    except (IncompatibleError, GameError) as error:
        return [], [f"No rated game can be played again: {error}"]

    def show(one: Notable) -> PageReplay:
        game = replayer.steps(one.game)
        left_out = f" The first {counted(game['first'], 'step')} are left out here."
        return PageReplay(one.kind, one.why + left_out * (game["first"] > 0), "", game)

    return _played_again(notable(games, study.ratings), show, notice, added, "and the result agrees")


def _played_again(
    kinds: list[list[Notable]],
    show: Callable[[Notable], PageReplay],
    notice: Callable[[str], None],
    added: Added,
    agreed: str,
) -> tuple[list[PageReplay], list[str]]:
    """The first game of each kind that ``show`` can show, and what is to be said about the others."""
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
                found[match] = show(one)
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
        notes.append(f"Each game was played again from its seed by the same weights, {agreed} with the ledger.")
    if missing:
        notes.append(f"Nothing to show for: {', '.join(missing).lower()}.")
    if failed:
        match, why = next(iter(failed.items()))
        notes.append(f"{len(failed)} of the games tried cannot be shown. {match}: {why}.")
    return notes
