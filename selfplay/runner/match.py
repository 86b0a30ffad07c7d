"""Plays matchups of frozen players, for ratings and evaluation.

All games of a call run in one block, each for one episode. Every policy decides at its own frame skip and delay,
whatever its opponent's are. Its draws follow from its game alone, see ``counter_rng``, so that any game can be replayed
alone; the network's own sums may differ in the last bit with the number of games beside it.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from selfplay.compilation.progress import compile_rules
from selfplay.errors import RunnerError
from selfplay.games.rated import NO_CONDITIONS, Conditions, Matches, RatedGame
from selfplay.games.registry import find_game, make_game
from selfplay.policy.recurrent_state import Infer, infer_directly
from selfplay.runner.counter_rng import keys_of
from selfplay.runner.policy_group import PolicyGroup, Rows
from selfplay.threads import ThreadPool

if TYPE_CHECKING:
    from selfplay.games.api import ScriptedGame
    from selfplay.games.objective import Objective
    from selfplay.league.schedule import Matchup
    from selfplay.policy.policy import Policy

Stats = NDArray[np.void]
THREAD_GAMES: Final = 32  # at least, of each of two or more threads


@dataclass(frozen=True, slots=True)
class Contender:
    """A frozen player: a policy, or a scripted player of the game where there is none."""

    id: str
    policy: Policy | None = None


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of a contender that a matchup and its record need."""

    version: str  # differs between players of the same name
    frame_skip: int  # frames between two decisions
    delay: int  # frames between seeing and acting
    any_frame_skip: bool = False  # plays with any frame skip


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A matchup that was played to its end."""

    matchup: Matchup
    score: tuple[float, float]  # of the seats: 1 a win, 0.5 a draw, 0 a loss
    stats: Stats  # the game's counters of both seats, [2]
    trace: int = 0  # hash of what the seats saw and did, and of the result; 0 if ``play`` was not told to trace


def payoffs(stats: Stats) -> tuple[float, float] | None:
    """Sums of rewards of the seats, from their counters [2]; None where the game has no such counter."""
    if "reward_payoff" not in (stats.dtype.names or ()):
        return None
    one, other = stats["reward_payoff"].tolist()
    return one, other


def lead_of(stats: Stats, seat: int) -> float:
    """Half the difference of the payoffs of a seat and the other one; 0 where the game does not count them."""
    both = payoffs(stats)
    return 0.0 if both is None else (both[seat] - both[1 - seat]) / 2


def stats_of(results: Sequence[MatchResult]) -> Stats:
    """The counters of all games, [G, 2]."""
    return np.stack([result.stats for result in results])


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules shared by all games of a call."""

    game: str  # by its name in the registry
    conditions: Conditions = NO_CONDITIONS
    greedy: bool = False

    @property
    def objective(self) -> Objective:
        """What players of the game are judged by."""
        return find_game(self.game).objective

    @property
    def rated(self) -> RatedGame:
        """Players and settings of rated matches of the game."""
        return find_game(self.game).rated

    def traits(self, contender: Contender) -> Traits:
        """Traits of a contender in these games."""
        if contender.policy is not None:
            policy = contender.policy
            return Traits(str(policy.meta.weights_hash), policy.body.frame_skip, policy.body.delay)
        player = self.rated.players[contender.id]
        return Traits(player.version, player.frame_skip, player.delay, player.any_frame_skip)


def play(
    matchups: Sequence[Matchup],
    contenders: Mapping[str, Contender],
    rules: Rules,
    stop: Callable[[], bool] = lambda: False,
    watch: Callable[[Any], None] | None = None,
    *,
    traced: bool = False,
) -> list[MatchResult]:
    """Play every matchup to its end. Blocks.

    The rules are compiled first where they are not. The same matchup gives the same game, whatever is played beside it.
    ``watch`` is shown the block before each frame. ``traced`` fills ``MatchResult.trace``.
    RunnerError if ``stop`` said so.
    """
    options = game_options(matchups, contenders, rules)
    if watch is not None and "frame_skip" in options:  # decisions every k frames may be asked for after each frame
        options["frame_skip"] = 1
    compile_rules(find_game(rules.game))
    game = make_game(rules.game, num_games=len(matchups), **options)
    seen = None if watch is None else lambda: watch(game)
    frame_skip = options.get("frame_skip", 1)
    return play_in(game, matchups, contenders, rules, stop, watch=seen, frame_skip=frame_skip, traced=traced)


def play_in_threads(
    threads: int,
    matchups: Sequence[Matchup],
    contenders: Mapping[str, Contender],
    rules: Rules,
    stop: Callable[[], bool] = lambda: False,
) -> list[MatchResult]:
    """``play`` in at most ``threads`` threads, see ``play_split``. Blocks."""
    compile_rules(find_game(rules.game))  # here, where a signal ends it: the end of the pool waits for its threads
    return play_split(threads, matchups, lambda part: play(part, contenders, rules, stop))


def play_split(
    most: int,
    matchups: Sequence[Matchup],
    play_part: Callable[[Sequence[Matchup]], list[MatchResult]],
    cancel: Callable[[], object] = lambda: None,
) -> list[MatchResult]:
    """Play at most ``most`` parts in a thread each, of which each has at least ``THREAD_GAMES`` games. Blocks.

    Fewer games are not divided: both threads would mostly wait for the interpreter's lock. Part i of n has every n-th
    matchup from i on. ``cancel`` makes the other parts end if one fails.
    """
    parts = max(1, min(most, len(matchups) // THREAD_GAMES))
    results: list[MatchResult | None] = [None] * len(matchups)
    with ThreadPool(parts, "matches") as pool:
        played = [pool.submit(play_part, matchups[part::parts]) for part in range(parts)]
        try:
            for part, future in enumerate(played):
                results[part::parts] = future.result()
        except BaseException:
            cancel()
            raise
    return [result for result in results if result is not None]


def game_options(matchups: Sequence[Matchup], contenders: Mapping[str, Contender], rules: Rules) -> dict[str, Any]:
    """Arguments of the game that matchups are played in, JSON-able."""
    seats = [[rules.traits(contenders[name]) for name in matchup.players] for matchup in matchups]
    return rules.conditions.options(
        Matches(
            roles=[matchup.roles for matchup in matchups],
            delays=[[player.delay for player in pair] for pair in seats],
            frame_skip=math.gcd(*(p.frame_skip for pair in seats for p in pair if not p.any_frame_skip)),
        )
    )


def play_in(
    game: ScriptedGame,
    matchups: Sequence[Matchup],
    contenders: Mapping[str, Contender],
    rules: Rules,
    stop: Callable[[], bool] = lambda: False,
    infer: Infer = infer_directly,
    watch: Callable[[], None] | None = None,
    frame_skip: int | None = None,
    *,
    traced: bool = False,
) -> list[MatchResult]:
    """``play`` in a block that the caller made with ``game_options``, of one game for each matchup. Blocks.

    ``watch`` is called before each step, which takes ``frame_skip`` frames: by default those of the options.
    RunnerError if ``stop`` said so or the process has ended, GameError if the game failed.
    """
    frame_skip = frame_skip or game_options(matchups, contenders, rules).get("frame_skip", 1)
    torch.set_num_threads(1)  # on batches as small as these threads would only wait for each other
    players = _seat(game, matchups, contenders, rules)  # before the games begin: real ones choose computer players then
    policies = PolicyGroup(players, keys_of(matchups), greedy=rules.greedy, infer=infer)
    obs = game.reset(np.array([matchup.seed for matchup in matchups], np.uint64))
    actions = np.zeros((len(matchups), 2, game.actions.width), game.actions.dtype)
    acts = np.zeros((len(matchups), 2), bool)
    stats: NDArray[Any] = np.zeros((len(matchups), 2), game.stats_dtype)
    score = np.zeros((len(matchups), 2))
    traces = [0] * len(matchups)
    left = np.ones(len(matchups), bool)
    frame = 0
    while left.any():
        if stop():
            raise RunnerError("the games were stopped")
        if watch is not None:
            watch()
        policies.act(obs, game.legal, frame, actions, acts)
        if traced:
            for g in np.flatnonzero(left).tolist():
                traces[g] = zlib.crc32(obs[g].tobytes() + actions[g].tobytes(), traces[g])
        batch = game.step(actions, acts)
        obs = batch.obs
        ended = batch.ended & left
        if ended.any():
            stats[ended], score[ended] = batch.stats[ended], batch.score[ended]
            left &= ~ended
            policies.leave(left)
        frame += frame_skip
    if traced:
        ends = zip(score, stats, traces, strict=True)
        traces = [zlib.crc32(points.tobytes() + row.tobytes(), trace) for points, row, trace in ends]
    played = zip(matchups, score.tolist(), stats, traces, strict=True)
    return [MatchResult(matchup, (one, other), row, trace) for matchup, (one, other), row, trace in played]


def _seat(
    game: ScriptedGame, matchups: Sequence[Matchup], contenders: Mapping[str, Contender], rules: Rules
) -> list[tuple[Policy, Rows]]:
    """Set the scripted seats of the game; returns the policies with their seats."""
    game.bots[:] = -1
    played: dict[str, tuple[Policy, list[int]]] = {}
    for g, matchup in enumerate(matchups):
        for seat, name in enumerate(matchup.players):
            contender = contenders[name]
            if contender.policy is None:
                game.bots[g, seat] = game.bot_names.index(rules.rated.players[contender.id].plays_as or contender.id)
            else:
                played.setdefault(name, (contender.policy, []))[1].append(2 * g + seat)
    return [(policy, np.array(rows, np.intp)) for _, (policy, rows) in sorted(played.items())]
