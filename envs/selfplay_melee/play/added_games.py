"""Games of people: verified, kept with the run as material to learn from, and rated where they can be."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint import RunDir, shipped_policies
from selfplay.checkpoint.generations import read_policy_meta
from selfplay.checkpoint.policies import is_policy
from selfplay.checkpoint.run_dir import CHECKPOINTS
from selfplay.checkpoint.store import write_file
from selfplay.errors import ConfigError, SelfPlayError
from selfplay.games.errors import GameError
from selfplay.league.leaderboard import analyse
from selfplay.league.people_ledger import VERSION, person_id, record_game, run_games
from selfplay.league.records import OUTSIDE, GameRecord, Seat, generation_number
from selfplay.league.render import interval
from selfplay.league.scale import ELO_SCALE
from selfplay.policy.played_game import body_of
from selfplay.ppo.rating import RatingSettings, config_of, record_of, settings_of
from selfplay.report.tree import counted
from selfplay_melee.bot_names import FRAME_SKIP
from selfplay_melee.conditions import as_fight, fight_scores
from selfplay_melee.play.games import Bot, Person, PlayedGame, PolicySeat, replay
from selfplay_melee.play_page import NAMELESS
from selfplay_melee.show.show import write_slp
from selfplay_melee.tables import CHARACTERS, STAGES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from selfplay.league.rows import LeaderboardRow
    from selfplay_melee.drawing.film import Film

_NAME_BYTES: Final = 40  # of an opponent in the name of a file
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
    typed: str  # the person's name before it became an id

    def __str__(self) -> str:
        """All of it, in one line."""
        parts = [self.result + ("" if self.is_new else ", which had been added before")]
        parts += [] if self.rating is None else [self.rating]
        parts += [] if self.typed.strip().lower() == self.person else [f"{self.typed!r} is {self.person} in ratings"]
        return "; ".join(parts) + ("." if self.why_not_rated is None else f". Not rated: {self.why_not_rated}")


def games_folder(run: RunDir | None) -> Path:
    """Folder of recorded games: in the run's folder, or in the folder of all runs."""
    return (run or RunDir(CHECKPOINTS)).people_games


def add_game(run: RunDir | None, document: bytes, name: str = NAMELESS) -> Added:
    """Verify a game of a person by playing it again, keep it as JSON and .slp, and rate it. Blocks.

    A trainer of the run may work at the same time. The same game counts once.

    Args:
        run: the run whose page the game was played on; None: a page of a single policy, whose games are not rated.
        document: what the page saved.
        name: of the person, where the document has none.

    Raises:
        CorruptError: it is no document of a game.
        IncompatibleError: it does not come out as it says.
        ConfigError: not one person against one opponent, or the folder is a link.
        LeagueError: the person's name gives no id, or the ledger of the run's people cannot be written.
        CheckpointError, GameError: the files cannot be written.
    """
    game = PlayedGame.parse(document)
    if sum(game.people) != 1:
        raise ConfigError(f"{game.names[0]} against {game.names[1]}: one seat must be a person's, and only one")
    seat = game.people.index(True)
    typed = name if game.names[seat] == NAMELESS else game.names[seat]
    player = person_id(typed)
    replayed = replay(game)
    opponent = _opponent(game, seat)
    name = player.removeprefix("person-")
    film = replace(replayed.film, names=(name, opponent) if seat == 0 else (opponent, name))
    label = f"{name}-{re.sub(r'[^A-Za-z0-9_-]+', '-', opponent)[:_NAME_BYTES]}-{_digest(game, player)}"
    json, is_new = _keep(games_folder(run), label, document, film)
    row, why_not = None, "it was played on the page of a policy, not of a run."
    if run is not None:
        row, why_not, appended = _rate(run, game, player, replayed.stats)
        is_new |= appended
    rating = None
    if row is not None:
        ends = interval(row, ELO_SCALE)
        rating = f"{name} is rated {row.rating:.0f}, 95% interval {ends}, {counted(row.games, 'game')}"
    result = _result(game, seat, name, opponent)
    return Added(name, opponent, json, json.with_suffix(".slp"), is_new, why_not or None, result, rating, typed)


def why_not_rated(run: RunDir, settings: RatingSettings, game: PlayedGame) -> str:
    """The first difference between the game of a person and a rating game of the run, as a sentence; "" without any.

    ``settings`` are those of the run's rating games.
    """
    rules, options = settings.rules, game.options
    rated = as_fight(rules.conditions)
    stage, characters = _STAGE_NAMES[game.stage], [_CHARACTER_NAMES[number] for number in game.characters]
    seat = game.people.index(False)
    opponent, delay = game.seats[seat], game.delay[seat]
    if game.result.ended is None:
        return "it was stopped before its end."
    if rules.game != game.game:
        return f"the run is rated in {rules.game}, this was the {game.game}."
    if sorted(characters) != sorted(rated.characters):
        return f"the run is rated with {' against '.join(rated.characters)}, this was {' against '.join(characters)}."
    if stage != rated.stage:
        return f"the run is rated on {rated.stage}, this was on {stage}."
    if options.cap != rated.max_episode_frames:
        return f"the run's games have at most {rated.max_episode_frames:,} frames, this one had {options.cap:,}."
    if options.ledge_grab_limit != rated.ledge_grab_limit:
        return f"the run's limit of ledge grabs is {rated.ledge_grab_limit}, here it was {options.ledge_grab_limit}."
    if isinstance(opponent, PolicySeat):
        return _policy_differs(run, settings, opponent, game, seat)
    if isinstance(opponent, Bot) and opponent.name in OUTSIDE:
        return f"{opponent.name} has no rating."
    if (options.bot_skip, delay) != (FRAME_SKIP, 0):
        return (
            f"scripted players are rated with a decision every {FRAME_SKIP} frames and no delay; here it was every "
            f"{options.bot_skip} and a delay of {delay}."
        )
    return ""


def _policy_differs(run: RunDir, settings: RatingSettings, played: PolicySeat, game: PlayedGame, seat: int) -> str:
    """Why a policy was not the one that is rated, as a sentence; "" where it was."""
    folder: Path | None = run.generations / played.id
    if generation_number(played.id) is None:
        folder = shipped_policies().get(played.id) if played.id in settings.anchors else None
    if folder is None or not is_policy(folder):
        return f"{played.id} is no generation of the run, or has been removed."
    meta = read_policy_meta(folder)
    if played.weights_hash != meta.weights_hash:
        return f"{played.id} has other weights in the run than in this game."
    presses = game.presses()
    decisions = presses["frame"][presses["seat"] == seat]
    body = body_of(meta)
    if played.frame_skip != body.frame_skip or (decisions % body.frame_skip).any():
        return f"{played.id} decides every {body.frame_skip} frames, which it did not here."
    if game.delay[seat] != body.delay:
        return f"{played.id} has a delay of {body.delay} frames, here it had {game.delay[seat]}."
    if played.temperature != 1.0:
        return f"{played.id} is rated at temperature 1, here it had {played.temperature:g}."
    return ""


def _rate(
    run: RunDir, game: PlayedGame, player: str, stats: NDArray[np.void] | None
) -> tuple[LeaderboardRow | None, str, bool]:
    """The person's row of the leaderboard, why the game is not rated, and whether it was appended to the ledger."""
    try:
        settings = settings_of(config_of(run))
        why_not = why_not_rated(run, settings, game)
    except (SelfPlayError, GameError) as error:
        return None, f"it cannot be compared with the run's rating games: {error}", False
    appended = False
    if not why_not and stats is not None:
        appended = record_game(run.path, _record(game, settings, player, stats))
    games = run_games(run.path)
    if settings.group not in games.groups:
        return None, why_not, appended
    board = analyse(games, settings=settings.group, run=run.path).board
    return next((row for row in board.rows if row.policy == player), None), why_not, appended


def _record(game: PlayedGame, settings: RatingSettings, player: str, stats: NDArray[np.void]) -> GameRecord:
    seats = []
    for played in game.seats:
        if isinstance(played, Person):
            who, version = player, VERSION
        elif isinstance(played, Bot):
            who, version = played.name, settings.rules.rated.players[played.name].version
        else:
            who, version = played.id, str(played.weights_hash)
        seats.append(Seat(player=who, version=version))
    one, other = (_CHARACTER_NAMES[number] for number in game.characters)
    return record_of(
        (seats[0], seats[1]),
        (one, other),
        stats,
        float(fight_scores(stats)),
        settings,
        int(game.seed),
        iteration=max(generation_number(one.player) or 0 for one in seats),
        round=int(_digest(game, player), 16),  # people can play other games on the same seed
    )


def _keep(home: Path, label: str, document: bytes, film: Film) -> tuple[Path, bool]:
    """Write both files, unless they are there; returns the path of the JSON, and whether it is new."""
    for place in (home, home.parent):
        if place.is_symlink():
            raise ConfigError(f"{place} is a link; games of people are kept in plain folders")
    stamp = "[0-9]" * 8 + "-" + "[0-9]" * 6
    if (known := next(home.glob(f"{stamp}-{label}.json"), None)) is not None:
        return known, False
    path = home / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{label}.json"
    home.mkdir(parents=True, exist_ok=True)
    write_slp(film, path.with_suffix(".slp"))
    write_file(path, document)  # last: where it is, the game is complete
    return path, True


def _opponent(game: PlayedGame, seat: int) -> str:
    opponent = game.seats[1 - seat]
    return opponent.id if isinstance(opponent, PolicySeat) else opponent.name if isinstance(opponent, Bot) else ""


def _result(game: PlayedGame, seat: int, name: str, opponent: str) -> str:
    mine, other = game.result.stocks[seat], game.result.stocks[1 - seat]
    if game.result.ended is None:
        return f"{name} against {opponent} was stopped at {mine}-{other}"
    if game.result.winner is None:
        return f"{name} and {opponent} drew {mine}-{other}"
    percents = f" ({game.result.percents[seat]:.0f}% to {game.result.percents[1 - seat]:.0f}%)" if mine == other else ""
    return f"{name} {'beat' if game.result.winner == seat else 'lost to'} {opponent} {mine}-{other}{percents}"


def _digest(game: PlayedGame, player: str) -> str:
    """Eight hex digits that are the same for the same game of the same person."""
    told = game.model_dump_json(include={"seed", "stage", "characters", "delay", "options", "seats", "frames"})
    return hashlib.blake2b(f"{player}\n{told}\n".encode() + game.presses().tobytes(), digest_size=4).hexdigest()
