"""The README.md of a policy on the Hub: what it plays, how strong it is, and how it was trained."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import AwareDatetime, BaseModel

from selfplay.checkpoint.documents import Count
from selfplay.cli.game_type import training_of
from selfplay.config.options import flag_of, listed
from selfplay.config.ppo import config_type, options_of
from selfplay.config.resume import usable
from selfplay.distribution import version
from selfplay.errors import SelfPlayError
from selfplay.games.errors import GameError
from selfplay.league.leaderboard import build
from selfplay.league.people_ledger import run_games
from selfplay.run.trainings import find_training

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.config.options import Option

LOCAL: Final = frozenset({"game.type", "run.checkpoint", "run.report_to", "run.chaos", "run.ray_address"})
"""Settings that say nothing about the policy, and the game, which is named first."""
FILM: Final = "film.gif"


class Facts(BaseModel, frozen=True, extra="ignore"):
    """What is shown of the document of a policy or of a language model, ``policy.json`` or ``selfplay.json``."""

    id: str
    game: str
    iteration: Count = 0
    total_steps: Count = 0
    created: AwareDatetime
    config: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Card:
    """A model card; ``run`` is the run that the policy is of, if it is known, ``film`` whether there is one."""

    repo: str
    facts: Facts
    run: RunDir | None
    film: bool

    def text(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        facts = self.facts
        yield from ("---", "library_name: selfplay", "pipeline_tag: reinforcement-learning", "tags:")
        yield from ("- selfplay", "- self-play", "- reinforcement-learning", "---", "", f"# {self.repo}", "")
        yield f"A policy of the game `{facts.game}`, trained by self-play with selfplay {version()}."
        if self.film:
            yield from ("", f"![A game of it]({FILM})")
        yield from ("", "| | |", "|---|---|", f"| Generation | {facts.id} |", f"| Iterations | {facts.iteration:,} |")
        yield from (
            f"| Steps | {facts.total_steps:,} |",
            f"| Seed | {self._seed} |",
            f"| Made | {facts.created:%Y-%m-%d} |",
        )
        yield from self._versions()
        yield from ("", "## Use", "", "```bash", *self._use(), "```")
        yield from self._ratings()
        yield from self._training()

    @property
    def _seed(self) -> str:
        match self.facts.config:
            case {"run": {"seed": int(seed)}}:
                return str(seed)
        return "not known"

    def _versions(self) -> Iterator[str]:
        document = self.run.read_run() if self.run is not None and self.run.holds_run() else {}
        match document:
            case {"versions": dict(found)}:
                yield from (f"| {name} | {number} |" for name, number in found.items())

    def _use(self) -> Iterator[str]:
        game, name = self.facts.game, f"hf://{self.repo}"
        if training_of(game) == "dialogue":
            yield f"selfplay train --game-type {shlex.quote(game)} --model {name}"
        else:
            yield f"selfplay evaluate {name} random"

    def _ratings(self) -> Iterator[str]:
        if self.run is None or not self.run.ledger.is_file():
            return
        board = build(run_games(self.run.path), run=self.run.path)
        scale = board.scale
        yield from (
            "",
            "## Ratings",
            "",
            f"{board.games:,} games, in {scale.unit}; `{board.anchor}` is the origin.",
            "",
        )
        yield from ("| Rank | Player | Rating | 95% interval | Games |", "|---|---|---|---|---|")
        for row in board.top():
            ends = "none" if row.ends is None else scale.interval(row.ends)
            name = f"**{row.policy}**" if row.policy == self.facts.id else row.name
            yield f"| {row.rank} | {name} | {row.rating:{scale.form}} | {ends} | {row.games} |"

    def _training(self) -> Iterator[str]:
        flags = flags_of(self.facts)
        if flags is not None:
            yield from ("", "## Training", "", "```bash", f"selfplay train {' '.join(flags)}", "```")


def flags_of(facts: Facts) -> list[str] | None:
    """Flags that train with the settings of a policy; None if it does not tell them, as after imitation."""
    try:
        options = _options(facts.game)
        root = config_type(facts.game) if training_of(facts.game) == "ppo" else options[0].root
        config = usable(root, facts.config, Path(facts.id))
    except (SelfPlayError, GameError):
        return None
    if "run" not in facts.config:
        return None
    found = listed(config, LOCAL)
    return [f"--game-type {shlex.quote(facts.game)}", "--preset none", *(_flag(options, *each) for each in found)]


def _options(game: str) -> Sequence[Option]:
    return options_of(game) if training_of(game) == "ppo" else find_training(training_of(game)).options()


def _flag(options: Sequence[Option], path: str, text: str) -> str:
    flag = flag_of(options, path)
    if text in ("true", "false") and any(option.path == path for option in options):
        return flag if text == "true" else f"--no-{flag[2:]}"
    return f"{flag}={shlex.quote(text)}"
