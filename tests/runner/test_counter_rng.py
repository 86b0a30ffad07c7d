import numpy as np
import pytest

from selfplay.league.schedule import Matchup
from selfplay.runner.counter_rng import keys_of, uniforms

FOXES = ("fox", "fox")


def keys(*pairs, seeds=range(1)):
    return keys_of([Matchup(pair, FOXES, seed) for seed in seeds for pair in pairs])


def test_the_generator_is_splitmix64():
    """The first numbers of the reference program for the seed 1234567, https://prng.di.unimi.it/splitmix64.c."""
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    found = uniforms(np.array([1234567], np.uint64), 0, 5)[0]
    np.testing.assert_array_equal(found, np.array([word >> 40 for word in known], np.float32) / 2**24)


def test_numbers_are_those_of_the_seat_whoever_decides_beside_it():
    many = keys(("a", "b"), ("b", "a"), seeds=range(50)).ravel()
    together = uniforms(many, 7, 13)
    for i in (0, 3, 99):
        np.testing.assert_array_equal(uniforms(many[i : i + 1], 7, 13)[0], together[i])
    assert together.dtype == np.float32


def test_games_seats_players_characters_and_decisions_share_no_luck():
    seatings = keys(("a", "b"), ("b", "a"), ("a", "c"), seeds=range(20))
    assert len(np.unique(seatings)) == seatings.size
    assert len(np.unique(keys_of([Matchup(("a", "b"), bodies, 1) for bodies in (FOXES, ("fox", "falco"))]))) == 4
    drawn = np.stack([uniforms(seatings.ravel(), decision, 13) for decision in range(30)])
    assert len(np.unique(drawn)) > 0.99 * drawn.size


def test_they_are_uniform_and_unrelated():
    drawn = uniforms(keys(("a", "b"), ("b", "a"), seeds=range(100)).ravel(), 3, 13)
    drawn = np.concatenate([drawn, uniforms(keys(("a", "b"), ("b", "a"), seeds=range(100)).ravel(), 4, 13)], 1)
    assert 0.0 <= drawn.min() < drawn.max() < 1.0
    counts = np.histogram(drawn, 20, (0, 1))[0]
    assert float(((counts - drawn.size / 20) ** 2 / (drawn.size / 20)).sum()) < 45  # chi-squared of 19 degrees
    correlation = np.corrcoef(drawn.T) - np.eye(26)
    assert np.abs(correlation).max() < 0.2
    swapped = uniforms(keys(("a", "b"), seeds=range(400))[:, 0], 0, 1)
    others = uniforms(keys(("b", "a"), seeds=range(400)).ravel(), 0, 1).reshape(-1, 2)
    for seat in (0, 1):
        assert abs(np.corrcoef(swapped[:, 0], others[:, seat])[0, 1]) < 0.2


@pytest.mark.parametrize("decision", [0, 2**31])
def test_a_long_game_has_numbers_too(decision):
    assert uniforms(np.array([2**63 - 1], np.uint64), decision, 13).shape == (1, 13)
