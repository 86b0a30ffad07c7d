"""Matchups of frozen players on actors of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.checkpoint import PolicyMeta
from selfplay.compilation.progress import compile_rules
from selfplay.games.plugins import allow
from selfplay.games.registry import find_game, make_game
from selfplay.games.snapshots import copied
from selfplay.league.schedule import Matchup
from selfplay.policy.policy import Policy
from selfplay.runner.actors import Actors
from selfplay.runner.block_client import WeightStore
from selfplay.runner.match import Contender, MatchResult, Rules, game_options, play_in, play_split, stats_of
from selfplay.runner.serialization import Arrays, Document, Packed, code_hash, unpack_network

if TYPE_CHECKING:
    from selfplay.runner.ray_cluster import Cluster

AGAIN: Final = 2  # times that a lost part is played again
ACTOR_GAMES: Final = 128  # of an actor side by side, where there are so many


class MatchServer:
    """Plays matchups in the process of an actor; one call at a time."""

    @staticmethod
    def code() -> str:
        return code_hash()

    @staticmethod
    def play(document: Document, *networks: Packed) -> Arrays:
        """The counters [G, 2] and scores [G, 2] of matchups; ``networks`` are those of the policies in their order."""
        game, options = document["game"], document["options"]
        allow(game)  # the other end was told to, here and below
        metas = {name: PolicyMeta.model_validate(meta) for name, meta in document["policies"].items()}
        for meta in metas.values():
            allow(meta.game)
        named = {name for matchup in document["matchups"] for name in matchup[0]}
        contenders = {name: Contender(name) for name in named}
        for (name, meta), packed in zip(metas.items(), networks, strict=True):
            contenders[name] = Contender(name, Policy(meta, unpack_network(packed)))
        matchups = [Matchup((a, b), tuple(roles), seed) for (a, b), roles, seed in document["matchups"]]
        compile_rules(find_game(game))
        made = make_game(game, num_games=len(matchups), **options)
        rules = Rules(game, greedy=document["greedy"])  # conditions are in the options
        results = play_in(made, matchups, contenders, rules, frame_skip=options.get("frame_skip", 1))
        return {"stats": stats_of(results), "score": np.array([result.score for result in results])}


@dataclass(frozen=True, slots=True)
class ClusterMatches:
    """Plays matchups on actors, each of which is a ``MatchServer``; see ``play``."""

    actors: Actors
    weights: WeightStore

    @property
    def at_once(self) -> int:
        """Games side by side that keep all actors busy."""
        return ACTOR_GAMES * self.actors.number

    def play(
        self,
        matchups: Sequence[Matchup],
        contenders: Mapping[str, Contender],
        rules: Rules,
        stop: Callable[[], bool] = lambda: False,
    ) -> list[MatchResult]:
        """``match.play`` in as many parts as there are actors, split as by ``play_in_threads``. Blocks.

        A part that begins when ``stop`` says so is not played. RunnerError if the actor of a part is lost for the
        third time.
        """

        def play_part(part: Sequence[Matchup]) -> list[MatchResult]:
            named = sorted({name for matchup in part for name in matchup.players})
            policies = {name: policy for name in named if (policy := contenders[name].policy) is not None}
            document = {
                "game": rules.game,
                "options": game_options(part, contenders, rules),
                "greedy": rules.greedy,
                "matchups": [astuple(matchup) for matchup in part],
                "policies": {
                    name: policy.meta.model_copy(update={"config": {}}).model_dump(mode="json")
                    for name, policy in policies.items()
                },
            }
            networks = [self.weights.find(policy.network)[1] for policy in policies.values()]
            found = self.actors.work(
                f"a part of {len(part)} rating games", lambda link: link.call("play", document, *networks), AGAIN, stop
            )
            arrays = copied(found)  # of our own: nothing pins the store
            played = zip(part, arrays["score"].tolist(), arrays["stats"], strict=True)
            return [MatchResult(matchup, (one, other), row) for matchup, (one, other), row in played]

        return play_split(self.actors.number, matchups, play_part, self.actors.close)


@contextmanager
def matches_on(cluster: Cluster, number: int, notice: Callable[[str], object]) -> Iterator[ClusterMatches]:
    """``play`` on so many actors of a cluster, as long as the block lasts; errors as of ``Actors``."""
    with Actors(partial(cluster.link, MatchServer), number, notice=notice) as actors:
        yield ClusterMatches(actors, WeightStore(cluster.put))
