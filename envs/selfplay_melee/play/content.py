"""Content of the play page of a run, a policy or a shipped policy, and a page for each of several generations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.config.resume import trained_on
from selfplay.evaluation.players import home_rules
from selfplay.games.registry import find_game
from selfplay.league.anchors import find_table
from selfplay.league.leaderboard import analyse
from selfplay.league.people_ledger import run_games
from selfplay.league.records import generation_number
from selfplay.league.statistics import Z95
from selfplay.policy.browser.weights import PLAYED, SCRIPTS, browser_policy, policy_description
from selfplay.ppo.rating import RatingSettings
from selfplay.report.saving import check_writable, save_text
from selfplay.report.standalone_page import read_modules
from selfplay.runner.match import Contender, Rules
from selfplay_melee.choices import MOCK
from selfplay_melee.commands.policies import load_fighter
from selfplay_melee.conditions import as_fight
from selfplay_melee.kinds import find_character
from selfplay_melee.play.home import LONGEST, Home, check_choices
from selfplay_melee.play_page.page import Opponent, PlayContent, play_page
from selfplay_melee.tables import STAGES

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.policy.policy import Policy

OTHERS: Final = ("fox", "marth", "mewtwo", "falco", "sheik")  # beside the characters that a policy was trained with
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
    elo = _ratings(home, rules)
    as_rated = home.run is not None and cap == conditions.max_episode_frames
    scripted = [_scripted(number, name, elo) for number, name in enumerate(find_game(MOCK).rated.players)]
    trained = [_policy(name, policy, elo, served) for name, policy in reversed(policies.items())]
    return PlayContent(
        title=f"Play against {home.title}",
        about=home.title,
        characters=sorted(cast),
        stages=sorted(STAGES),
        opponents=[*sorted(trained, key=lambda one: one.generation is None), *reversed(scripted)],
        options=step_options(cap, conditions.ledge_grab_limit),
        policy_script=read_modules(resources.files("selfplay.policy.browser"), *SCRIPTS),
        defaults={"opponent": home.newest, "characters": [other, mine], "stage": conditions.stage},
        rated={"characters": [other, mine], "stage": conditions.stage} if as_rated else None,
    )


def write_play_pages(
    run: RunDir, generations: Sequence[str], folder: Path, notice: Callable[[str], None], least: int = CHARACTERS
) -> dict[str, Path]:
    """Write ``FOLDER/gen_N.html`` for each of these generations of a run; the pages by generation.

    Each page is complete in itself: the rules and figures in it are some 0.7 MB. It has at least ``least`` characters.

    Raises:
        ConfigError: a policy is of a kind that pages cannot play, or a page cannot be written.
        CheckpointError: a generation cannot be loaded.
    """
    pages = {name: folder / f"{name}.html" for name in generations}
    for number, (name, path) in enumerate(pages.items(), 1):
        notice(f"making the play page of {name} ({number} of {len(pages)})")
        check_writable(path)
        home = Home(run.path.resolve().name, run, {name: run.generations / name})
        save_text(path, play_page(play_content(home, least=least)))
    return pages


def step_options(cap: int, ledge_grab_limit: int) -> dict[str, int]:
    """``StepOptions`` of a game whose steps are frames, without rewards, which no player of a page sees."""
    bot_skip = next(iter(find_game(MOCK).rated.players.values())).frame_skip
    return {"frame_skip": 1, "bot_skip": bot_skip, "cap": cap, "ledge_grab_limit": ledge_grab_limit}


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


def _policy(name: str, policy: Policy, ratings: Ratings, served: bool) -> Opponent:
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
        description=policy_description(policy) if data is None else data.description,
        weights=None if data is None else data.weights,
    )


def _scripted(number: int, name: str, ratings: Ratings) -> Opponent:
    elo, interval = ratings.get(name, (None, None))
    about, label = SCRIPTED.get(name, ""), name.replace("_", " ")
    return Opponent(id=name, label=label, group="Scripted", about=about, elo=elo, interval=interval, bot=number)
