import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from selfplay.dialogue.grpo import GRPOStatistics
from selfplay.dialogue.instances import grouped
from selfplay.errors import LearnerError
from selfplay.learner.grpo_loss import token_logprobs
from selfplay.learner.sampling import Sampling
from selfplay.run.learner_state import learner_arrays, restore_learner
from tests.dialogue.learner.token_models import (
    LENGTH,
    VOCABULARY,
    Cells,
    Model,
    TinyTransformer,
    games_of,
    instance,
    learning,
    random_games,
    scored,
    update,
    weights,
)

AGGREGATIONS = ("constant", "seq-mean", "token-mean")
MIXED = {"advantage": "grpo", "epochs": 2, "batch_rows": 16, "entropy": 0.01}


def test_prompt_and_partner_tokens_have_no_gradient_and_the_end_of_a_turn_has():
    cells = Cells(2)
    end = 10
    games = [
        instance([0, 5, 6, end, 7, 8, 3, end, 9], [2, 3, 6, 7], reward=1.0, game="a"),  # turns "6 end" and "3 end"
        instance([1, 5, 2, end, 7, 8], [2, 3], reward=0.0, game="b"),
    ]
    stats = update(cells, grouped(scored(cells, games)), batch_rows=2, max_grad_norm=1e9)
    moved = cells.cells.grad.abs().sum(-1) > 0
    assert moved.nonzero().tolist() == [[0, 1], [0, 2], [0, 5], [0, 6], [1, 1], [1, 2]]  # each the place before
    # what was written by who won gets likelier, its end included, and by who lost less likely
    assert bool((cells.cells.grad[0, [1, 2, 5, 6], [6, end, 3, end]] < 0).all())
    assert bool((cells.cells.grad[1, [1, 2], [2, end]] > 0).all())
    assert (stats.rows, stats.tokens) == (2, 6)


def test_no_token_is_weighed_by_how_long_its_row_is_unless_asked():
    games = [instance([0, 5, 6, 7, 8], [2, 3, 4], 1.0, game="a"), instance([1, 5, 2], [2], 0.0, game="b")]
    norms = {}
    for aggregation in AGGREGATIONS:
        cells = Cells(2)
        with torch.no_grad():
            cells.cells.zero_()
        update(cells, grouped(scored(cells, games)), loss_agg=aggregation, row_tokens=8, max_grad_norm=1e9)
        size = cells.cells.grad.norm(dim=-1)
        norms[aggregation] = [float(size[0, 1]), float(size[1, 1])]
    one = norms["constant"][0] * 16  # of a token with weight 1
    assert norms["constant"] == pytest.approx([one / 16, one / 16])
    assert norms["token-mean"] == pytest.approx([one / 4, one / 4])
    assert norms["seq-mean"] == pytest.approx([one / 6, one / 2])


def test_equal_rewards_move_nothing():
    module = TinyTransformer()
    games = [replace(game, reward=0.7) for game in random_games()]
    before = weights(module)
    stats = update(module, grouped(scored(module, games)), advantage="grpo", weight_decay=0.1, entropy=0.1)
    assert torch.equal(weights(module), before)
    assert (stats.steps, stats.rows, stats.groups) == (0, 0, 12)
    assert (stats.zero_variance, stats.zero_variance_share, stats.singletons) == (12, 1.0, 0)


@pytest.mark.parametrize("games", [[], [replace(game, reward=0.7) for game in random_games()]])
def test_an_update_without_a_row_takes_no_step_with_a_reference_either(games):
    module = TinyTransformer()
    before = weights(module)
    stats = update(module, grouped(games), kl=0.1, reference=TinyTransformer(seed=1), truncate=2.0, threads=2)
    assert (stats.steps, stats.rows, stats.groups) == (0, 0, len(games) // 4)
    assert torch.equal(weights(module), before)


def test_groups_of_one_reward_are_left_out_of_the_distance_to_the_reference_too():
    """So an update of such groups alone is no special case: it has no rows."""
    found = []
    for states in (3, 6):
        module = TinyTransformer()
        games = [replace(game, reward=0.7) if game.index >= 3 else game for game in random_games()]
        games = [game for game in scored(module, games) if game.index < states]
        stats = update(module, grouped(games), kl=0.1, reference=TinyTransformer(seed=1), micro_rows=3)
        found.append((weights(module), stats.kl, stats.rows, stats.steps))
    assert torch.equal(found[0][0], found[1][0])
    assert found[0][1:] == found[1][1:]
    assert found[0][1] > 0


def test_games_alone_move_nothing_without_a_baseline_across_states():
    module = TinyTransformer()
    groups = games_of(module, games=1)
    before = weights(module)
    assert update(module, groups) == GRPOStatistics(groups=12, singletons=12)
    assert torch.equal(weights(module), before)
    assert update(module, groups, baseline="role-ema").rows == 12
    assert not torch.equal(weights(module), before)


def test_nothing_to_learn_from():
    assert update(TinyTransformer(), []) == GRPOStatistics()


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.7), Sampling(0.9, 0.8)])
def test_a_model_that_did_not_move_has_a_ratio_of_1(sampling):
    module = TinyTransformer()
    groups = games_of(module)
    if sampling.top_p == 1.0:
        groups = games_of(module, sampling)
    else:  # random words lie outside of the nucleus too; keep those inside
        games = random_games()
        with learning(module, sampling) as learner:
            logprobs = learner.logprobs(games)
        games = [
            replace(
                game, sampled=game.sampled & np.isfinite(logprob), logprob=np.where(np.isfinite(logprob), logprob, 0)
            )
            for game, logprob in zip(games, logprobs, strict=True)
        ]
        groups = grouped(games)
    stats = update(module, groups, sampling, batch_rows=1000)
    assert stats.drift < 1e-5
    assert stats.approx_kl == pytest.approx(0, abs=1e-6)
    assert (stats.clip_fraction, stats.outside, stats.importance, stats.steps) == (0.0, 0.0, 1.0, 1)


@pytest.mark.parametrize("apart", [0.0, 0.25])
def test_the_drift_is_that_before_the_first_step(apart):
    module = TinyTransformer()
    games = scored(module, random_games())
    games = [replace(game, logprob=game.logprob + np.float32(apart) * game.sampled) for game in games]
    stats = update(module, grouped(games), batch_rows=8, epochs=3, learning_rate=0.05)
    assert stats.approx_kl > 0.1
    assert stats.drift == pytest.approx(apart, abs=1e-5)


def test_the_learning_rate_can_be_changed():
    module = TinyTransformer()
    before = weights(module)
    with learning(module) as learner:
        assert learner.optimizer.param_groups[0]["lr"] == 1e-4
        learner.optimizer.param_groups[0]["lr"] = 0.0
        assert learner.update(games_of(module), torch.Generator()).steps == 1
        assert torch.equal(weights(module), before)
        learner.optimizer.param_groups[0]["lr"] = 0.01
        learner.update(games_of(module), torch.Generator())
        assert 0.009 < float((weights(module) - before).abs().max()) < 0.02


def test_an_update_can_be_ended_before_any_step():
    module = TinyTransformer()
    before, answers = weights(module), iter((False, False, True, True))
    with learning(module, epochs=10**9, batch_rows=8) as learner:
        assert learner.update(games_of(module), torch.Generator(), lambda: next(answers)).steps in (1, 2)
        assert not torch.equal(weights(module), before)
        assert learner.update(games_of(module), torch.Generator(), lambda: True).steps == 0


def test_logprobs_are_those_of_the_sampled_tokens():
    module = TinyTransformer()
    games = random_games(states=2)
    with learning(module, Sampling(temperature=0.6), threads=2, micro_rows=3) as learner:
        found = learner.logprobs(games)
    for game, logprob in zip(games, found, strict=True):
        ids = torch.from_numpy(game.ids).long()[None]
        with torch.no_grad():
            every = torch.log_softmax(module(ids)[0, :-1] / 0.6, -1).gather(-1, ids[0, 1:, None])[:, 0].numpy()
        expected = np.where(game.sampled, np.concatenate([[0], every]), 0)
        np.testing.assert_allclose(logprob, expected, atol=1e-5)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_neither_micro_batches_nor_threads_change_an_update(aggregation):
    results = []
    for micro_rows, threads in [(1000, 1), (1, 1), (2, 2), (5, 1), (7, 3)]:
        module, reference = TinyTransformer(), TinyTransformer(seed=1)
        stats = update(
            module, games_of(module), **MIXED, loss_agg=aggregation, kl=0.1, reference=reference,
            micro_rows=micro_rows, threads=threads,
        )  # fmt: skip
        results.append((weights(module), stats))
    (first, expected), *others = results
    assert not torch.equal(first, weights(TinyTransformer()))
    for found, stats in others:
        assert float((found - first).abs().max()) < 1e-5
        assert stats.loss == pytest.approx(expected.loss, abs=1e-5)
        assert stats.kl == pytest.approx(expected.kl, abs=1e-5)
        assert (stats.rows, stats.tokens, stats.steps) == (expected.rows, expected.tokens, expected.steps)


def test_two_seeded_updates_are_equal_bit_for_bit():
    results = []
    for seed in (3, 3, 4):
        module = TinyTransformer()
        stats = update(module, games_of(module), seed=seed, threads=2, micro_rows=3, **MIXED)
        results.append((weights(module), stats))
    assert torch.equal(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]
    assert not torch.equal(results[0][0], results[2][0])  # other batches


def test_a_gradient_that_is_not_finite_moves_nothing_and_is_counted():
    module = TinyTransformer()
    groups = games_of(module)
    before = weights(module)
    model = Model(module)
    plain = model.hidden
    with learning(module, batch_rows=12) as learner:
        learner._model.hidden = lambda tokens: plain(tokens) * torch.tensor(math.nan)
        stats = learner.update(groups, torch.Generator())
        assert not learner.optimizer.state
    assert (stats.skipped, stats.steps) == (4, 4)
    assert torch.equal(weights(module), before)
    assert (stats.loss, stats.grad_norm) == (0.0, 0.0)


def test_tokens_that_leave_the_nucleus_do_no_harm():
    """Large steps: after the first, many tokens lie outside."""
    module, sampling = TinyTransformer(), Sampling(temperature=0.5, top_p=0.5)
    rng = torch.Generator().manual_seed(0)
    games = [sampled_by(module, sampling, index, game, rng) for index in range(8) for game in range(4)]
    stats = update(
        module, grouped(games), sampling, advantage="grpo", epochs=4, batch_rows=8, learning_rate=0.03, entropy=0.01,
        kl=0.1, reference=TinyTransformer(seed=1), max_grad_norm=100.0,
    )  # fmt: skip
    assert stats.outside > 0.01
    assert stats.skipped == 0
    assert stats.drift < 1e-4
    assert all(math.isfinite(value) for value in (stats.loss, stats.kl, stats.approx_kl, stats.entropy))
    assert bool(weights(module).isfinite().all())


def sampled_by(module, sampling, index, game, rng, length=10):
    """A row that the module wrote from its second token on, with the log-probabilities that it sampled by."""
    ids, logprobs = [index], [0.0]
    with torch.no_grad():
        while len(ids) < length:
            logits = module(torch.tensor([ids]))[:, -1]
            every = token_logprobs(logits, torch.zeros(1, dtype=torch.long), sampling)[1][0]
            ids.append(int(torch.multinomial(every.exp(), 1, generator=rng)))
            logprobs.append(float(every[ids[-1]]))
    reward = float(torch.rand((), generator=rng))
    played = instance(ids, range(1, length), reward, index, str(game))
    return replace(played, logprob=np.array(logprobs, np.float32))


def test_samples_from_elsewhere_are_weighed_and_the_ratio_starts_at_1():
    module = TinyTransformer()
    games = scored(module, random_games(states=4))
    elsewhere = [replace(game, logprob=game.logprob - np.float32(0.5) * game.sampled) for game in games]
    stats = update(module, grouped(elsewhere), truncate=1.2, batch_rows=1000)
    assert stats.drift == pytest.approx(0.5, abs=1e-5)
    assert stats.importance == pytest.approx(1.2)  # e^0.5, truncated
    assert stats.approx_kl == pytest.approx(0, abs=1e-6)
    less = [replace(game, logprob=game.logprob + np.float32(0.5) * game.sampled) for game in games]
    grown, plain = TinyTransformer(), TinyTransformer()
    settings = {"batch_rows": 1000, "max_grad_norm": 1e9}
    assert update(grown, grouped(less), truncate=1.2, **settings).importance == pytest.approx(math.exp(-0.5), abs=1e-5)
    update(plain, grouped(games), **settings)
    for ours, theirs in zip(grown.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, math.exp(-0.5) * theirs.grad, atol=1e-7, rtol=1e-3)


def test_a_token_that_the_model_would_not_sample_weighs_nothing():
    cells = Cells(2)
    with torch.no_grad():
        cells.cells[0, 1, 4] = -30.0
    games = [instance([0, 5, 4, 7], [2, 3], 1.0, game="a"), instance([1, 5, 2], [2], 0.0, game="b")]
    elsewhere = [replace(game, logprob=np.where(game.sampled, -1.0, 0).astype(np.float32)) for game in games]
    stats = update(cells, grouped(elsewhere), Sampling(top_p=0.99999), truncate=2.0)
    assert stats.skipped == 0
    assert math.isfinite(stats.drift)
    assert cells.cells.grad[0, 1].abs().sum() == 0
    assert cells.cells.grad[0, 2].abs().sum() > 0


def test_a_reference_holds_the_model_back():
    away = {}
    for weight in (0.0, 5.0):
        module = TinyTransformer()
        with learning(module, reference=TinyTransformer(), kl=weight, learning_rate=1e-2, epochs=4) as learner:
            first = learner.update(games_of(module), torch.Generator().manual_seed(0))
            away[weight] = learner.update(games_of(module), torch.Generator().manual_seed(1)).kl
        assert first.kl >= 0
    assert 0 < away[5.0] < away[0.0] / 2
    with pytest.raises(LearnerError, match="needs a reference"), learning(TinyTransformer(), kl=0.1):
        pass


def test_the_entropy_bonus_raises_entropy():
    gained = {}
    for weight in (0.0, 1.0):
        module = TinyTransformer()
        with torch.no_grad():
            module.out.weight.mul_(8)
        groups = games_of(module)
        with learning(module, entropy=weight, learning_rate=3e-3) as learner:
            first = learner.update(groups, torch.Generator().manual_seed(0)).entropy
            gained[weight] = learner.update(groups, torch.Generator().manual_seed(0)).entropy - first
    assert gained[1.0] > gained[0.0] + 0.01


def test_bfloat16_changes_the_rounding_only():
    modules = [TinyTransformer(), TinyTransformer()]
    groups = games_of(modules[0])
    for module, bf16 in zip(modules, (False, True), strict=True):
        stats = update(module, groups, bf16=bf16, batch_rows=1000, max_grad_norm=1e9)
        assert (stats.drift > 1e-4) == bf16
        assert all(parameter.dtype == torch.float32 for parameter in module.parameters())
    ours, theirs = (torch.cat([p.grad.flatten() for p in module.parameters()]) for module in modules)
    assert float((ours - theirs).norm() / ours.norm()) < 0.05


def test_a_learner_continues_from_its_state():
    settings = {"learning_rate": 1e-2, "baseline": "role-ema", "batch_rows": 8}
    module, again = TinyTransformer(), TinyTransformer(seed=5)
    rng, other = torch.Generator().manual_seed(1), torch.Generator()
    with learning(module, **settings) as learner, learning(again, **settings) as restored:
        learner.update(games_of(module), rng)
        restore_learner(restored, other, learner_arrays(learner, rng))
        restored.baseline.restore(learner.baseline.state())
        groups = games_of(module, seed=1)
        assert learner.update(groups, rng) == restored.update(groups, other)
    assert torch.equal(weights(module), weights(again))


def test_frozen_parameters_stay():
    module = TinyTransformer()
    module.embedding.requires_grad_(requires_grad=False)
    before = module.embedding.weight.clone()
    head = module.out.weight.clone()
    update(module, games_of(module), weight_decay=0.1)
    assert torch.equal(module.embedding.weight, before)
    assert not torch.equal(module.out.weight, head)


@pytest.mark.parametrize("settings", [{"advantage": "dr_grpo"}, {"advantage": "grpo"}, {"baseline": "role-ema"}])
def test_a_bandit_is_solved(settings):
    """Two words; the reward is the share of them that is the right one for the state."""
    cells = Cells(4)
    with torch.no_grad():
        cells.cells.zero_()
    rng = torch.Generator().manual_seed(0)
    alone = "baseline" in settings
    with learning(cells, learning_rate=0.1, batch_rows=64, row_tokens=2, **settings) as learner:
        for _ in range(40):
            games = []
            for state in range(4):
                for game in range(16):
                    with torch.no_grad():
                        logprobs = torch.log_softmax(cells.cells[state, :2], -1)
                        words = torch.multinomial(logprobs.exp(), 1, generator=rng)[:, 0]
                    reward = float((words == state + 1).float().mean())
                    played = instance(
                        [state, *words.tolist()], [1, 2], reward, 16 * state + game if alone else state, str(game)
                    )
                    logprob = np.array([0, *logprobs.gather(-1, words[:, None])[:, 0].tolist()], np.float32)
                    games.append(replace(played, logprob=logprob))
            stats = learner.update(grouped(games), rng)
    assert stats.drift < 1e-5
    right = torch.softmax(cells.cells[:, :2].detach(), -1)[range(4), :, range(1, 5)]
    assert float(right.min()) > 0.9


def test_vocabulary_and_length_fit_the_models():
    assert max(len(game.ids) for game in random_games()) <= LENGTH
    assert max(int(game.ids.max()) for game in random_games()) < VOCABULARY
