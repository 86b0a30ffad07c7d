"""Does a game keep what ``VectorGame`` promises? For tests and for authors of games."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from selfplay.games.api import Actions, ActionSpec, StepBatch, VectorGame
from selfplay.games.errors import ActionError, ContractError

MakeGame = Callable[[int], VectorGame]
_SCORES: Final = (0.0, 0.5, 1.0)


def check_game(
    make: MakeGame,
    *,
    num_games: int = 3,
    steps: int = 300,
    seed: int = 0,
    chance: bool = True,
    zero_sum: bool = True,
) -> None:
    """Play random actions and check the whole contract, all comparisons bit for bit.

    Args:
        make: Gives a new block of so many games. Episodes must be short enough that some end within ``steps``.
        num_games: B of the block that is compared with B blocks of one, at least 2.
        steps: To play.
        seed: Of the games' seeds and the actions.
        chance: Whether games of different seeds differ, and the episodes of one game begin differently.
        zero_sum: Whether the rewards of the seats sum to zero in every step.

    Raises:
        ContractError: names the broken promise, and the step and game where it broke.
    """
    game = make(num_games)
    rng = np.random.default_rng(seed)
    seeds = rng.integers(2**64, size=num_games, dtype=np.uint64)
    actions = legal_actions(game, rng, seeds, steps)
    first, batches = _play(game, seeds, actions)
    _check_observations(first, game, "reset")
    for t, batch in enumerate(batches):
        _check_batch(batch, game, f"step {t}")
        _require(
            not zero_sum or (batch.reward.sum(1) == 0).all(), "rewards of the seats do not sum to zero", f"step {t}"
        )
    if not any(batch.ended.any() for batch in batches):
        raise ContractError(f"no episode ended within {steps} steps; make episodes shorter, or play more steps")
    _check_same(_play(game, seeds, actions), (first, batches), "the same game reset with the same seeds")
    _check_same(_play(make(num_games), seeds, actions), (first, batches), "another game with the same seeds")
    _check_blocks_of_one(make, seeds, actions, (first, batches))
    if chance:
        _check_seeds_matter(make, seeds, actions, (first, batches))
    _check_snapshot(make, seeds, actions, batches)
    _check_acts(make, seeds, actions, (first, batches))
    _check_bad_actions(make, seeds, actions)


def random_actions(rng: np.random.Generator, spec: ActionSpec, steps: int, num_games: int, num_seats: int) -> Actions:
    """Uniformly random actions, [T, B, P, A]."""
    size = (steps, num_games, num_seats, spec.width)
    return rng.integers(0, highest(spec), size, spec.dtype, endpoint=True)  # one more might not fit into the type


def legal_actions(game: VectorGame, rng: np.random.Generator, seeds: NDArray[np.uint64], steps: int) -> Actions:
    """Random actions that are legal in games with these seeds, [T, B, P, A]; the mask is checked on the way."""
    actions = random_actions(rng, game.actions, steps, game.num_games, game.num_seats)
    game.reset(seeds)
    for t in range(steps):
        if game.legal is None:
            break
        _check_array(game.legal, (*actions.shape[1:3], game.actions.logits), np.bool_, f"step {t}: legal")
        actions[t] = random_step(game, rng, f"step {t}")
        game.step(actions[t])
    return actions


def random_step(game: VectorGame, rng: np.random.Generator, where: str = "random actions") -> Actions:
    """One legal action for every seat, [B, P, A], drawn at random."""
    spec = game.actions
    if game.legal is None:
        actions: Actions = random_actions(rng, spec, 1, game.num_games, game.num_seats)[0]
        return actions
    draws = np.where(game.legal, rng.random(game.legal.shape), -1.0)
    actions = spec.first_highest(draws)
    actions[..., : spec.binary] = draws[..., : spec.binary] > 0.5
    _require((np.maximum.reduceat(draws, spec.starts, -1) >= 0).all(), "a seat has no legal class", where)
    return actions


def highest(spec: ActionSpec) -> Actions:
    """Highest valid number of each part of an action, [A]; the lowest is 0."""
    return np.array([1] * spec.binary + [size - 1 for size in spec.sizes], spec.dtype)


Played = tuple[NDArray[np.float32], list[StepBatch]]


def _play(game: VectorGame, seeds: NDArray[np.uint64], actions: Actions) -> Played:
    """Copies of the first observations and of every batch."""
    first = game.reset(seeds).copy()
    return first, [copy.deepcopy(game.step(each)) for each in actions]


def _require(holds: object, what: str, where: str) -> None:
    if not holds:
        raise ContractError(f"{where}: {what}")


def _check_array(array: NDArray[Any], shape: tuple[int, ...], dtype: type, what: str) -> None:
    if array.shape != shape or array.dtype != dtype:
        wanted = f"{np.dtype(dtype)} of shape {shape}"
        raise ContractError(f"{what} must be {wanted}, it is {array.dtype} of shape {array.shape}")


def _check_observations(obs: NDArray[np.float32], game: VectorGame, where: str) -> None:
    _check_array(obs, (game.num_games, game.num_seats, game.obs_width), np.float32, f"{where}: obs")
    _require(np.isfinite(obs).all(), "obs are not finite", where)


def _check_batch(batch: StepBatch, game: VectorGame, where: str) -> None:
    games, seats = game.num_games, game.num_seats
    _check_observations(batch.obs, game, where)
    _check_array(batch.final_obs, batch.obs.shape, np.float32, f"{where}: final_obs")
    for name in ("reward", "score"):
        _check_array(getattr(batch, name), (games, seats), np.float32, f"{where}: {name}")
    for name in ("terminated", "truncated"):
        _check_array(getattr(batch, name), (games,), np.bool_, f"{where}: {name}")
    _require(batch.stats.shape == (games, seats) and batch.stats.dtype.names, "stats must be structured [B, P]", where)
    _require(np.isfinite(batch.reward).all(), "reward is not finite", where)
    _require(not (batch.terminated & batch.truncated).any(), "an episode is both terminated and truncated", where)
    ended = batch.ended
    _require(np.isfinite(batch.final_obs[ended]).all(), "final_obs are not finite", where)
    _require(np.isin(batch.score[ended], _SCORES).all(), f"scores must be of {_SCORES}", where)
    _require((batch.score[ended].sum(axis=1) == seats / 2).all(), "scores must be half of the seats in all", where)


def _check_same(played: Played, wanted: Played, what: str) -> None:
    """Two plays are equal; rows that the contract leaves open are not compared."""
    (first, batches), (wanted_first, wanted_batches) = played, wanted
    _require(first.tobytes() == wanted_first.tobytes(), "first observations differ", what)
    for t, (batch, other) in enumerate(zip(batches, wanted_batches, strict=True)):
        difference = _difference(batch, other)
        _require(not difference, f"{difference} differs", f"{what}, step {t}")


def _difference(batch: StepBatch, other: StepBatch) -> str:
    """The first field in which two batches differ, or nothing."""
    for name in ("obs", "reward", "terminated", "truncated"):
        if getattr(batch, name).tobytes() != getattr(other, name).tobytes():
            return name
    ended = batch.ended
    for name in ("final_obs", "score"):
        if getattr(batch, name)[ended].tobytes() != getattr(other, name)[ended].tobytes():
            return name
    # field by field: what lies between the fields of a record says nothing
    names = batch.stats.dtype.names or ()
    return next((f"stats[{n}]" for n in names if not np.array_equal(batch.stats[n][ended], other.stats[n][ended])), "")


def _row(batch: StepBatch, b: int) -> StepBatch:
    return StepBatch(*(getattr(batch, field.name)[b : b + 1] for field in fields(StepBatch)))


def _check_blocks_of_one(make: MakeGame, seeds: NDArray[np.uint64], actions: Actions, wanted: Played) -> None:
    first, batches = wanted
    for b in range(len(seeds)):
        alone = _play(make(1), seeds[b : b + 1], actions[:, b : b + 1])
        _check_same(alone, (first[b : b + 1], [_row(batch, b) for batch in batches]), f"game {b} in a block of its own")


def _check_seeds_matter(make: MakeGame, seeds: NDArray[np.uint64], actions: Actions, wanted: Played) -> None:
    """Games of different seeds differ, and so do the episodes of one game."""
    first, batches = wanted
    same = np.repeat(actions[:, :1], 2, axis=1)
    _require(_differ(make(2), seeds[:2], same), "games 0 and 1 are the same", "different seeds, same actions")
    for b in range(len(seeds)):
        starts = [first[b], *(batch.obs[b] for batch in batches if batch.ended[b])]
        alike = len(starts) > 1 and all(np.array_equal(starts[0], start) for start in starts[1:])
        _require(not alike, "every episode begins alike", f"game {b}")


def _differ(game: VectorGame, seeds: NDArray[np.uint64], actions: Actions) -> bool:
    """Return True if two games ever differ. Play stops there, since an action may then be legal in only one of them."""
    obs = game.reset(seeds)
    for each in actions:
        legal = game.legal
        if (obs[0] != obs[1]).any() or (legal is not None and (legal[0] != legal[1]).any()):
            return True
        obs = game.step(each).obs
    return bool((obs[0] != obs[1]).any())


def _check_snapshot(make: MakeGame, seeds: NDArray[np.uint64], actions: Actions, batches: list[StepBatch]) -> None:
    """A snapshot, put into another block, continues exactly; the block it was taken from is not disturbed."""
    half = len(actions) // 2
    game, other = make(len(seeds)), make(len(seeds))
    _play(game, seeds, actions[:half])
    taken = game.snapshot()
    rest = [copy.deepcopy(game.step(each)) for each in actions[half:]]
    other.reset(seeds + np.uint64(1))
    for block, what in (
        (other, "a snapshot restored in another game"),
        (game, "a snapshot restored where it was taken"),
    ):
        obs = block.restore(taken).copy()
        again = [copy.deepcopy(block.step(each)) for each in actions[half:]]
        _check_same((obs, again), (batches[half - 1].obs, batches[half:]), what)
        _check_same((obs, again), (obs, rest), what)


def _check_acts(make: MakeGame, seeds: NDArray[np.uint64], actions: Actions, wanted: Played) -> None:
    """``acts`` of all seats changes nothing, and the actions of seats that do not act are ignored."""
    game, twin, restored = (make(len(seeds)) for _ in range(3))
    every = np.ones(actions.shape[1:3], np.bool_)
    played = game.reset(seeds).copy(), [copy.deepcopy(game.step(each, every)) for each in actions]
    _check_same(played, wanted, "every seat acts")
    for each in (game, twin, restored):
        each.reset(seeds)
    rng = np.random.default_rng(len(actions))
    for t in range(len(actions)):
        acts = rng.random(every.shape) < 0.5
        chosen, other = (random_step(game, rng, f"step {t}") for _ in range(2))
        other[acts] = chosen[acts]
        batch = game.step(chosen, acts)
        difference = _difference(batch, twin.step(other, acts))
        _require(not difference, f"{difference} differs with the actions of seats that do not act", f"step {t}")
        if t == len(actions) // 2:
            restored.restore(twin.snapshot())
            difference = _difference(game.step(chosen, ~every), restored.step(chosen, ~every))
            _require(not difference, f"{difference} differs after a restored snapshot, no seat acting", f"step {t}")
            twin.step(chosen, ~every)


def _check_bad_actions(make: MakeGame, seeds: NDArray[np.uint64], actions: Actions) -> None:
    """Bad actions are refused by name and change nothing."""
    game, twin = make(len(seeds)), make(len(seeds))
    game.reset(seeds)
    twin.reset(seeds)
    seat = game.num_seats - 1
    messages = set()
    for field, most in enumerate(highest(game.actions).tolist()):
        for value in (-1.0, most + 1.0, 0.5, np.nan, np.inf):
            bad = actions[0].astype(np.float64)
            bad[-1, seat, field] = value
            message = _refusal(game, bad, f"field {field} = {value}")
            shown = f"{value:g}"
            named = f"seat {seat}" in message and shown in message
            _require(named, f"the error must name seat {seat} and {shown}: {message}", f"field {field} = {value}")
            messages.add((field, message))
    _require(
        len({message for _, message in messages}) == len(messages),
        "errors of different fields read alike",
        "bad actions",
    )
    for shape in (actions[0, 0].shape, (*actions[0].shape[:-1], game.actions.width + 1)):
        _refusal(game, np.zeros(shape, game.actions.dtype), f"shape {shape}")
    difference = _difference(game.step(actions[0]), twin.step(actions[0]))
    _require(not difference, f"{difference} differs after refused actions", "bad actions")


def _refusal(game: VectorGame, actions: NDArray[Any], what: str) -> str:
    try:
        game.step(actions)
    except ActionError as error:
        return str(error)
    raise ContractError(f"bad actions ({what}) were played instead of refused with an ActionError")
