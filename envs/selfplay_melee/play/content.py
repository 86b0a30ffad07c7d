"""Content of the play page of a run, a policy or a shipped policy, and a page for each of several generations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.config.resume import trained_on
from selfplay.errors import SelfPlayError
from selfplay.evaluation.players import home_rules
from selfplay.games.errors import GameError
from selfplay.games.vector import RANDOM
from selfplay.league.anchors import find_table
from selfplay.league.leaderboard import analyse
from selfplay.league.people_ledger import run_games
from selfplay.league.records import OUTSIDE, generation_number
from selfplay.league.statistics import Z95
from selfplay.policy.browser.weights import PLAYED, SCRIPTS, browser_policy, policy_description
from selfplay.ppo.rating import RatingSettings, config_of, settings_of
from selfplay.report.saving import check_writable, save_text
from selfplay.report.standalone_page import read_modules
from selfplay.runner.match import Contender, Rules
from selfplay_melee import bot_names
from selfplay_melee.choices import MOCK
from selfplay_melee.commands.policies import load_fighter
from selfplay_melee.conditions import as_fight
from selfplay_melee.kinds import SLOW_FROM, find_character
from selfplay_melee.play.home import LONGEST, Home, check_choices
from selfplay_melee.play_page.page import Opponent, PlayContent, play_page
from selfplay_melee.tables import STAGES

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.policy.policy import Policy

OTHERS: Final = ("fox", "marth", "mewtwo", "falco", "sheik")  # beside the characters that a policy was trained with
TRANSFORMS: Final = {"sheik", "zelda"}  # who become each other in a game
CHARACTERS: Final = 3  # on a page, if no more are asked for
SCRIPTED: Final = {
    "idle": "stands still",
    "random": "presses anything",
    "walker": "walks up and pokes, never shields",
    "rusher": "runs or jumps in, never shields",
    "shield_grabber": "shields and grabs",
    "counter_hitter": "keeps away and punishes mistakes",
    "edge_guarder": "punishes faster, and follows off the stage",
    "all_rounder": "the strongest, never looks away",
}
"""Scripted players in a few words; see ``docs/melee/bots.md``."""


def play_content(
    home: Home,
    characters: Sequence[str] = (),
    max_episode_frames: int | None = None,
    *,
    served: bool = False,
    least: int = CHARACTERS,
) -> PlayContent:
    """Make the content of the page of a run or policy.

    Args:
        home: The run or policy.
        characters: More characters than those that it was trained with, and a few others.
        max_episode_frames: The longest game; None: as in training.
        served: Whether a server plays the policies that pages cannot play.
        least: How many characters there are at least.

    Raises:
        ConfigError: a policy is of a kind that pages cannot play and there is no server, or such a longest game is not
            possible.
        CheckpointError: a policy cannot be loaded.
        GameError: an unknown character.
        LeagueError: the run's ledger cannot be read.
    """
    policies = {name: load_fighter(path) for name, path in home.policies.items()}
    newest = policies[home.newest]
    rules = home_rules([Contender(home.newest, newest)])
    conditions = as_fight(rules.conditions)
    mine, other = conditions.characters
    cap = min(conditions.max_episode_frames, LONGEST) if max_episode_frames is None else max_episode_frames
    check_choices(characters, cap)
    cast = {mine, other, *(find_character(name) for name in characters)}
    for name in OTHERS:
        cast |= {name} if len(cast) < least else set()
    cast |= TRANSFORMS if cast & TRANSFORMS else set()
    elo = _ratings(home, rules)
    options = step_options(cap, conditions.ledge_grab_limit)
    settings = _rating_settings(home, rules)
    scripted = [_scripted(number, name, elo) for number, name in enumerate(bot_names.NAMES)]
    trained = [_policy(name, policy, elo, served, settings) for name, policy in reversed(policies.items())]
    opponents = [*sorted(trained, key=_place), *reversed(scripted)]
    return PlayContent(
        title=f"Play against {home.title}",
        about=home.title,
        characters=sorted(cast),
        stages=sorted(STAGES),
        opponents=opponents,
        options=options,
        policy_script=read_modules(resources.files("selfplay.policy.browser"), *SCRIPTS),
        defaults={
            "opponent": _weakest(opponents) or home.newest,
            "characters": [other, mine],
            "stage": conditions.stage,
        },
        rated=None if settings is None else _rated(settings, options),
    )


def write_play_pages(
    run: RunDir, generations: Sequence[str], folder: Path, notice: Callable[[str], None], least: int = CHARACTERS
) -> dict[str, Path]:
    """Write ``FOLDER/gen_N.html`` for each of these generations of a run; the pages by generation.

    Each page is complete in itself: the rules and figures in it are some 0.7 MB. It has at least ``least`` characters,
    and its generation is the opponent that is chosen first.

    Raises:
        ConfigError: a policy is of a kind that pages cannot play, or a page cannot be written.
        CheckpointError: a generation cannot be loaded.
    """
    pages = {name: folder / f"{name}.html" for name in generations}
    for number, (name, path) in enumerate(pages.items(), 1):
        notice(f"making the play page of {name} ({number} of {len(pages)})")
        check_writable(path)
        home = Home(run.path.resolve().name, run, {name: run.generations / name})
        content = play_content(home, least=least)
        save_text(path, play_page(replace(content, defaults={**content.defaults, "opponent": name})))
    return pages


def step_options(cap: int, ledge_grab_limit: int) -> dict[str, int]:
    """``StepOptions`` of a game whose steps are frames, without rewards, which no player of a page sees."""
    return {"frame_skip": 1, "bot_skip": bot_names.FRAME_SKIP, "cap": cap, "ledge_grab_limit": ledge_grab_limit}


Ratings = Mapping[str, tuple[float, tuple[float | None, float | None]]]


def _ratings(home: Home, rules: Rules) -> Ratings:
    """Elo with its 95% interval: of all players of a run, or of those that the settings of a policy pin."""
    if home.run is not None and len(games := run_games(home.run.path)):
        board = analyse(games, run=home.run.path).board
        return {row.policy: (row.rating, row.ends or (None, None)) for row in board.rows}
    settings = RatingSettings(rules).settings
    found = find_table(settings, None if home.run is None else home.run.path)
    if found is None:
        return {}
    table = found[0]
    return {name: (elo, (elo - Z95 * table.se[name], elo + Z95 * table.se[name])) for name, elo in table.rating.items()}


def _place(trained: Opponent) -> tuple[bool, float]:
    """Generations stay as they are; other policies come after them, the strongest first."""
    return trained.generation is None, 0.0 if trained.generation is not None else -(trained.elo or 0.0)


def _weakest(opponents: Sequence[Opponent]) -> str | None:
    """The weakest rated opponent with a person's reaction; without one, the weakest that does more than press anything.

    Scripted players react at once here, so a beginner has no chance against most of them.
    """
    rated = {one.id: one for one in opponents if one.rated and one.elo is not None and one.id != RANDOM}
    slow = {name: one for name, one in rated.items() if one.delay >= SLOW_FROM}
    return min(slow or rated, key=lambda name: rated[name].elo or 0.0, default=None)


def _rating_settings(home: Home, rules: Rules) -> RatingSettings | None:
    """Settings of the rating games of a run, or of the shipped ratings; None if no game of a page can be one."""
    if home.run is None:
        found = find_table(RatingSettings(rules).settings)
        return None if found is None else RatingSettings(rules, found[0].by_strength())
    try:
        settings = settings_of(config_of(home.run))
    except (SelfPlayError, GameError):
        return None
    return settings if settings.rules.game == MOCK else None


def _rated(settings: RatingSettings, options: Mapping[str, int]) -> Mapping[str, Any] | None:
    """What is chosen in rating games; None if games with these options are none. See ``why_not_rated``."""
    rated = as_fight(settings.rules.conditions)
    if (options["cap"], options["ledge_grab_limit"]) != (rated.max_episode_frames, rated.ledge_grab_limit):
        return None
    return {"characters": list(rated.characters), "stage": rated.stage, "scale": settings.settings}


def _policy(name: str, policy: Policy, ratings: Ratings, served: bool, settings: RatingSettings | None) -> Opponent:
    meta, home = policy.meta, trained_on(policy.meta)
    data = None if served and meta.network.kind not in PLAYED else browser_policy(policy)
    number = generation_number(meta.id)
    elo, interval = ratings.get(Path(name).name, (None, None))
    return Opponent(
        id=name,
        label=Path(name).name,
        group="Trained" if number is None else "Generations",
        about=f"{meta.network.kind}, {meta.total_steps:,} steps",
        elo=elo,
        interval=interval,
        generation=number,
        characters=home.characters,
        stage=home.stage,
        delay=home.delay,
        frame_skip=home.frame_skip,
        rated=generation_number(name) is not None or (settings is not None and name in settings.anchors),
        description=policy_description(policy) if data is None else data.description,
        weights=None if data is None else data.weights,
    )


def _scripted(number: int, name: str, ratings: Ratings) -> Opponent:
    elo, interval = ratings.get(name, (None, None))
    about, label = SCRIPTED.get(name, ""), name.replace("_", " ")
    return Opponent(
        id=name,
        label=label,
        group="Scripted",
        about=about,
        elo=elo,
        interval=interval,
        bot=number,
        rated=name not in OUTSIDE,
    )
