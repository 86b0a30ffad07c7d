"""The session of a run of dialogue self-play."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from selfplay.dialogue.opponents import EMPTY, Roster
from selfplay.dialogue.rating import DialogueRating
from selfplay.dialogue.runner import DialogueOrder
from selfplay.learner.sampling import Sampling
from selfplay.machine import update_threads, usable_cores
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState, RunDir
    from selfplay.dialogue.contract import DialogueEntry, Rules
    from selfplay.dialogue.following import UrlServer
    from selfplay.dialogue.language.endpoint import Endpoint
    from selfplay.dialogue.language.model import LanguageModel
    from selfplay.dialogue.serving import ReplyServer
    from selfplay.dialogue.settings import DialogueConfig
    from selfplay.runner.ray_cluster import Cluster


def runners(config: DialogueConfig, device: str) -> int:
    run, states = config.run, config.states_per_iteration
    here = usable_cores() if device == "cpu" or run.host == "ray" else 1
    return min(run.runners or here, states)


@dataclass(frozen=True, slots=True)
class DialogueSession:
    """A run being trained, new or resumed."""

    config: DialogueConfig
    run: RunDir
    device: str
    entry: DialogueEntry
    rules: Rules
    model: LanguageModel  # shared by learner and runners
    base: str  # name or folder of the initial model
    sampling: Sampling
    resumed: LearnerState | None = None
    server: ReplyServer | UrlServer | None = None  # gets new weights
    endpoint: Endpoint | None = None  # server that writes replies; None: the model itself
    cluster: Cluster | None = None  # plays the games; None: this process
    roster: Roster = EMPTY  # players of ``--opponent``

    packages: ClassVar[tuple[str, ...]] = ("torch", "numpy", "transformers", "tokenizers", "scipy")
    document: ClassVar[dict[str, Any]] = {"family": "dialogue"}
    film_flags: ClassVar[None] = None  # games of text are not filmed

    @property
    def runners(self) -> tuple[str, ...]:
        return tuple(f"runner-{i:03d}" for i in range(runners(self.config, self.device)))

    @property
    def threads(self) -> int:
        return update_threads(self.config.run.threads)

    @property
    def rating(self) -> DialogueRating:
        """As ``rating_of`` makes them, without reading a file."""
        sampling = Sampling(max_new_tokens=self.sampling.max_new_tokens)
        game, seed = self.config.game.type, self.config.run.seed
        return DialogueRating(game, self.entry, self.rules, sampling, seed, self.roster.names)

    def orders(self, iteration: int, opponents: Sequence[str]) -> dict[str, DialogueOrder]:
        """The order of each runner for an iteration, counted from 0: whole groups, with the opponent on each state."""
        config, runners = self.config, self.runners
        states = config.states_per_iteration
        orders = {}
        for i, runner in enumerate(runners):
            part = range(states * i // len(runners), states * (i + 1) // len(runners))
            indices = tuple(iteration * states + state for state in part)
            orders[runner] = DialogueOrder(
                indices,
                tuple(derive(config.run.seed, "state", index) for index in indices),
                config.grpo.games_per_state,
                () if config.league.mirrors_only else tuple(opponents[part.start : part.stop]),
            )
        return orders
