"""Games of people: verified, kept with the run as material to learn from, and rated where they can be."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from envs.melee.bot_names import FRAME_SKIP
from envs.melee.tables import CHARACTERS, STAGES
from selfplay.checkpoint import shipped_policies
from selfplay.checkpoint.generations import read_policy_meta
from selfplay.checkpoint.policies import is_policy
from selfplay.checkpoint.run_dir import CHECKPOINTS, RunDir
from selfplay.checkpoint.store import write_file
from selfplay.commands.played_games import Bot, Person, PlayedGame, PolicySeat, Replayed, replay
from selfplay.errors import ConfigError, SelfPlayError
from selfplay.league.leaderboard import analyse
from selfplay.league.people import VERSION, person_id, record_game, run_games
from selfplay.league.records import OUTSIDE, MatchRecord, MatchSeat, generation_number, person_name
from selfplay.league.render import interval
from selfplay.report.fight.show import write_slp
from selfplay.train.fighting.rating import RatingSettings, config_of, settings_of

if TYPE_CHECKING:
    from selfplay.league.rows import LeaderboardRow

WITHOUT_RUN: Final = CHECKPOINTS / RunDir.people_games.place  # for games of pages that were made from a policy
_STAGE_NAMES: Final = {number: name for name, number in STAGES.items()}
_CHARACTER_NAMES: Final = {number: name for name, number in CHARACTERS.items()}


@dataclass(frozen=True, slots=True)
class Added:
    """A game of a person that was kept. Names are those of the leaderboard."""

    person: str
    opponent: str
    json: Path
    slp: Path
    is_new: bool  # the game had not been added before
    why_not_rated: str | None  # a sentence; None: the game is rated
    result: str  # "anna beat gen_40 2-0"
    rating: str | None  # "anna is rated 3120, 95% interval 2800 to 3440, 7 games"; None without any rated game

    @property
    def rated(self) -> bool:
        return self.why_not_rated is None

    def __str__(self) -> str:
        """All of it, in one line."""
        again = "" if self.is_new else " (added before)"
        rating = "" if self.rating is None else f"; {self.rating}"
        return f"{self.result}{again}{rating}." + ("" if self.rated else f" Not rated: {self.why_not_rated}")


def add_game(run: RunDir | None, document: bytes, folder: Path | None = None) -> Added:
    """Verify a game of a person by playing it again, keep it as JSON and .slp, and rate it. Blocks.

    A trainer of the run may work at the same time. The same game counts once.

    Args:
        run: the run whose page the game was played on; None: a page of a single policy, whose games are not rated.
        document: what the page saved.
        folder: where the two files go; default: ``people/games`` of the run, or below ``checkpoints/`` without one.

    Raises:
        CorruptError: it is no document of a game.
        IncompatibleError: it does not come out as it says.
        ConfigError: not one person against one opponent, or the folder is a link.
        LeagueError: the person's name gives no id, or the ledger of the run's people cannot be written.
        CheckpointError: the files cannot be written.
    """
    game = PlayedGame.parse(document)
    seat = _seat_of_person(game)
    player = person_id(game.names[seat])
    name = person_name(player) or player
    replayed = replay(game)
    home = folder or (WITHOUT_RUN if run is None else run.people_games)
    names = [_opponent(game, seat)] * 2
    names[seat] = name
    stem, is_new = _keep(home, game, document, replayed, (names[0], names[1]), seat)
    row, why_not = None, "it was played on the page of a policy, outside a run."
    if run is not None:
        row, why_not, added = _rate(run, game, seat, player, replayed)
        is_new |= added
    return Added(
        person=name,
        opponent=names[1 - seat],
        json=stem.with_name(f"{stem.name}.json"),
        slp=stem.with_name(f"{stem.name}.slp"),
        is_new=is_new,
        why_not_rated=why_not,
        result=_result(game, names, seat, replayed),
        rating=None if row is None else _rating(row),
    )


def why_not_rated(run: RunDir, settings: RatingSettings, game: PlayedGame, replayed: Replayed) -> str | None:
    """The first difference to a rating game of the run, as a sentence; None where the game can be rated."""
    rules, options = settings.rules, game.options
    if replayed.stats is None:
        return "it was stopped before its end."
    characters = [_CHARACTER_NAMES[number] for number in game.characters]
    if sorted(characters) != sorted(settings.characters):
        return f"the run is rated with {' and '.join(sorted(set(settings.characters)))}."
    if (stage := _STAGE_NAMES[game.stage]) != rules.stage:
        return f"the run is rated on {rules.stage}, this was {stage}."
    if options.cap != rules.max_episode_frames:
        return f"the run's games have at most {rules.max_episode_frames:,} frames, this one {options.cap:,}."
    if options.ledge_grab_limit != rules.ledge_grab_limit:
        return f"the run's ledge-grab limit is {rules.ledge_grab_limit}, this was {options.ledge_grab_limit}."
    seat = 1 - _seat_of_person(game)
    opponent = game.seats[seat]
    if isinstance(opponent, Bot):
        if opponent.name in OUTSIDE:
            return f"{opponent.name} has no rating."
        if (options.bot_skip, game.delay[seat]) != (FRAME_SKIP, 0):
            return f"{opponent.name} decided every {options.bot_skip} frames and {game.delay[seat]} late, not as rated."
        return None
    return _policy_differs(run, settings, opponent, game, seat) if isinstance(opponent, PolicySeat) else None


def _policy_differs(
    run: RunDir, settings: RatingSettings, played: PolicySeat, game: PlayedGame, seat: int
) -> str | None:
    """Why a policy was not itself, as a sentence; None where it was."""
    folder = run.generations / played.id
    if generation_number(played.id) is None:
        shipped = shipped_policies().get(played.id) if played.id in settings.anchors else None
        if shipped is None:
            return f"{played.id} is neither a generation of the run nor has it a rating there."
        folder = shipped
    if not is_policy(folder):
        return f"{played.id} is no longer in {run.generations}."
    meta = read_policy_meta(folder)
    if played.weights_hash != meta.weights_hash:
        return f"{played.id} has other weights than the one that played."
    presses = game.presses()
    decided = presses["frame"][presses["seat"] == seat]
    if played.frame_skip != meta.frame_skip or (decided % meta.frame_skip).any():
        return f"{played.id} decides every {meta.frame_skip} frames, here it did not."
    if game.delay[seat] != meta.delay:
        return f"{played.id} has a delay of {meta.delay} frames, here it had {game.delay[seat]}."
    if played.temperature != 1.0:
        return f"{played.id} is rated at temperature 1, here it had {played.temperature:g}."
    return None


def _rate(
    run: RunDir, game: PlayedGame, seat: int, player: str, replayed: Replayed
) -> tuple[LeaderboardRow | None, str | None, bool]:
    """The person's row of the leaderboard, why the game is not rated, and whether a row was appended."""
    try:
        settings = settings_of(config_of(run))
        why_not = why_not_rated(run, settings, game, replayed)
    except SelfPlayError as error:
        return None, f"the run's settings cannot be used: {error}.", False
    record = None if why_not else _record(game, settings, player, replayed)
    added = record is not None and record_game(run.path, record)
    games = run_games(run.path)
    if settings.group not in games.groups:
        return None, why_not, added
    board = analyse(games, settings=settings.group, run=run.path).board
    return next((row for row in board.rows if row.policy == player), None), why_not, added


def _record(game: PlayedGame, settings: RatingSettings, player: str, replayed: Replayed) -> MatchRecord:
    stats = replayed.stats
    assert stats is not None
    seats = []
    for played, character, delay in zip(game.seats, game.characters, game.delay, strict=True):
        if isinstance(played, Person):
            who, version, skip = player, VERSION, 1
        elif isinstance(played, Bot):
            who, version, skip = played.name, settings.rules.rated.players[played.name].version, game.options.bot_skip
        else:
            who, version, skip = played.id, str(played.weights_hash), played.frame_skip
        seats.append(
            MatchSeat(player=who, version=version, character=_CHARACTER_NAMES[character], frame_skip=skip, delay=delay)
        )
    opponent = next(one.player for one in seats if one.player != player)
    return MatchRecord.played(
        seats=(seats[0], seats[1]),
        seed=int(game.seed),
        round=int(_digest(game)[:8], 16),  # a person can play two games on one seed
        settings=settings.settings,
        stage=settings.rules.stage,
        stocks=tuple(int(s["stocks"]) for s in stats),
        percents=tuple(float(s["percent"]) for s in stats),
        damage=tuple(float(s["damage"]) for s in stats),
        self_destructs=tuple(int(s["self_destructs"]) for s in stats),
        frames=int(stats[0]["frames"]),
        ended=settings.rules.rated.endings[int(stats[0]["ended"])],
        sampling=settings.sampling,
        iteration=generation_number(opponent) or 0,
        wall=time.time(),
    )


def _keep(
    home: Path, game: PlayedGame, document: bytes, replayed: Replayed, names: tuple[str, str], seat: int
) -> tuple[Path, bool]:
    """Write both files; returns their path without suffix, and whether they are new."""
    for place in (home, home.parent):
        if place.is_symlink():
            raise ConfigError(f"{place} is a link: games of people are kept in plain folders")
    digest = _digest(game)
    opponent = _as_file_name(names[1 - seat])
    for known in home.glob(f"*-{digest}.json"):
        if (found := known.with_suffix("")).name.partition("-")[2].endswith(f"{names[seat]}-{opponent}-{digest}"):
            return found, False
    stem = home / f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{names[seat]}-{opponent}-{digest}"
    home.mkdir(parents=True, exist_ok=True)
    write_slp(replace(replayed.film, names=names), stem.with_name(f"{stem.name}.slp"))
    write_file(stem.with_name(f"{stem.name}.json"), document)  # last: it tells that both are there
    return stem, True
