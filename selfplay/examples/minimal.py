"""Self-play on tic-tac-toe, out of the parts that a run is made of: PPO against a pool of frozen generations."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations

import numpy as np
import torch

from selfplay import Policy, allow
from selfplay.checkpoint import ActionHeads, NetworkSpec, PolicyMeta
from selfplay.games.registry import find_game
from selfplay.league.games import GameTable
from selfplay.league.matchmaker import Matchmaker
from selfplay.league.ratings import rate
from selfplay.league.schedule import Matchup
from selfplay.learner.ppo import PPO, PPOSettings
from selfplay.policy.network import build_network
from selfplay.policy.policy import frozen_copy
from selfplay.ppo.batch import make_batch, scores_against
from selfplay.ppo.rating import RatingSettings, play_matchups
from selfplay.runner.block import Block
from selfplay.runner.match import Contender, Rules
from selfplay.runner.segment import SegmentOrder

GAME, GAMES, STEPS, ITERATIONS, SAVE, SEED = "selfplay.examples.tic_tac_toe:TicTacToe", 64, 16, 80, 20, 0
allow(GAME)
game, generator = find_game(GAME), torch.Generator().manual_seed(SEED)
spec = NetworkSpec(obs_width=game.obs_width, hidden=(64, 64))
heads = ActionHeads(binary=game.actions.binary, sizes=game.actions.sizes)
settings = PPOSettings(batch_size=256, learning_rate=2e-3, entropy_coefficient=0.02)
ppo = PPO(build_network(spec, heads, generator), settings)
block = Block(game.make(num_games=GAMES), SEED)
matchmaker = Matchmaker("simple_mix", np.random.default_rng(SEED), max_frozen=4)
pool: dict[str, Policy] = {}


def freeze(iteration: int) -> None:
    meta = PolicyMeta(
        id=f"gen_{iteration}", iteration=iteration, network=spec, actions=heads, encoder_version=game.encoder_version,
        game=GAME, created=datetime.now(UTC),
    )  # fmt: skip
    pool[meta.id] = Policy(meta, frozen_copy(ppo.network))
    matchmaker.set_pool(pool)


freeze(0)
for iteration in range(1, ITERATIONS + 1):
    matchmaker.rotate()
    opponents, networks = matchmaker.draw(GAMES), {name: policy.network for name, policy in pool.items()}
    order = SegmentOrder(iteration, STEPS, iteration, frozen_copy(ppo.network), networks, tuple(opponents))
    collected = block.collect(order)
    matchmaker.record(scores_against([collected]))
    batch = make_batch([collected.rollout], gamma=1.0, lam=0.9, device=ppo.device)
    metrics = ppo.update(batch, generator)
    if iteration % SAVE == 0:
        freeze(iteration)
        print(f"gen_{iteration}: entropy {metrics.entropy:.2f}, explained variance {metrics.explained_variance:.2f}")

newest = pool[f"gen_{ITERATIONS}"]
seen = block.collect(replace(order, steps=100, network=newest.network)).rollout.transitions()
worth = seen.reward + ~seen.terminal * newest.value(seen.next_state)
opening = ~seen.state.any(1)  # the board is empty
for cell in np.unique(seen.action[opening]):
    found = worth[opening & (seen.action[:, 0] == cell)]
    print(f"opening on cell {cell}: {len(found)} games, worth {found.mean():+.2f}")

players = {"random": Contender("random")} | {name: Contender(name, policy) for name, policy in pool.items()}
matchups = [Matchup(pair, seed=seed) for pair in combinations(players, 2) for seed in range(40)]
rules = RatingSettings(Rules(game=GAME), seed=SEED)
ratings = rate(GameTable.of(play_matchups(matchups, players, rules, ITERATIONS)))
for name, rating, low, high in zip(ratings.players, ratings.rating, ratings.low, ratings.high, strict=True):
    print(f"{name}: {rating:.0f} Elo, 95% interval {low:.0f} to {high:.0f}")
