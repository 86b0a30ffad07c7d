import numpy as np
import pytest

from selfplay_melee.actions import DEAD_UP_STAR, WAIT
from selfplay_melee.drawing.story import BEHIND, COMBO, STOCK, best_moment
from tests.melee.drawing.fights import NAMES, film


def fight(hits=(), losses=(), stuns=(), start=(0.0, 0.0), frames=1800):
    """Hits are frame, seat that is hit and percent; losses are frame and seat; stuns are a range and seat."""

    def change(now, frame):
        players = now.players[0]
        if frame == 0:
            players["percent"] = start
        for at, seat, percent in hits:
            if at == frame:
                players["percent"][seat] += percent
        for at, seat in losses:
            if at == frame:
                players["stocks"][seat] -= 1
                players["percent"][seat] = 0
        players["hitstun"] = [float(any(frame in span and s == seat for span, s in stuns)) for seat in (0, 1)]

    return film(frames, change=change)


def test_a_stock_is_shown_with_what_led_to_it_and_what_follows():
    made = fight(hits=[(800, 1, 20), (900, 1, 30), (1100, 1, 60)], losses=[(960, 1)])
    moment = best_moment(made, 12)
    assert moment.start_s * 60 == pytest.approx(961 - 660)
    assert moment.gain == pytest.approx(STOCK + 50)
    assert moment.stocks == 1
    assert moment.why == f"{NAMES[0]} deals 50% and takes a stock"


def test_a_window_ends_when_the_stock_has_left_the_count():
    """Off the top that is some time after the blast zone."""

    def change(now, frame):
        players = now.players[0]
        players["percent"] = (0, 20 if frame < 800 else 60)
        players["action"][1] = DEAD_UP_STAR if 860 <= frame < 990 else WAIT
        players["stocks"][1] = 4 if frame < 960 else 3

    moment = best_moment(film(1800, change=change), 12)
    assert moment.start_s * 60 == pytest.approx(961 - 660)
    assert moment.gain == pytest.approx(STOCK + 40)


@pytest.mark.parametrize(("lost", "start"), [(240, 301), (241, 302), (301, 362), (361, 422), (362, 301)])
def test_no_window_begins_within_a_second_of_an_own_loss(lost, start):
    made = fight(hits=[(800, 1, 20), (900, 1, 60)], losses=[(lost, 0), (960, 1)])
    for seats in ((0,), (0, 1)):
        moment = best_moment(made, 12, seats)
        assert (moment.start_s * 60, moment.stocks) == (pytest.approx(start), 1)
    assert best_moment(made, 12, (1,)).start_s == 0


def test_an_own_stock_is_lost_from_the_blast_zone_on():
    def change(now, frame):
        players = now.players[0]
        players["percent"] = (0, 0 if frame < 900 else 60)
        players["action"][0] = DEAD_UP_STAR if 300 <= frame < 450 else WAIT
        players["stocks"] = 4 if frame < 450 else 3, 4 if frame < 960 else 3

    assert best_moment(film(1800, change=change), 12).start_s * 60 == pytest.approx(511)


def test_an_own_stock_costs_as_much_as_one_that_is_taken():
    assert best_moment(fight([(800, 1, 50)], [(850, 0), (960, 1)]), 12).gain == 50


def test_a_stock_that_is_thrown_away_is_none_that_is_taken():
    made = fight(hits=[(300, 1, 20), (1200, 0, 10)], losses=[(900, 1)])
    moment = best_moment(made, 12)
    assert (moment.gain, moment.why) == (20, f"{NAMES[0]} deals 20%")


def test_combos_count_more_than_single_hits():
    hits = [(200, 1, 10), (230, 1, 10), (1000, 1, 10), (1030, 1, 10)]
    moment = best_moment(fight(hits, stuns=[(range(1000, 1040), 1)]), 4)
    assert moment.gain == pytest.approx(10 + COMBO * 10)
    assert moment.start_s * 60 == pytest.approx(1031 - 180)


def test_damage_taken_is_no_gain():
    assert best_moment(fight([(300, 1, 30), (330, 0, 25), (1200, 1, 10)]), 4).gain == 30
    assert best_moment(fight([(300, 1, 30), (301, 0, 30)]), 4, (1,)).gain == 30


def test_a_player_who_is_behind_gains_more():
    even, behind = (best_moment(fight([(300, 1, 40)], start=(lead, 0)), 4) for lead in (0, BEHIND))
    assert behind.gain == 1.5 * even.gain
    assert behind.why == f"{NAMES[0]} deals 40%, from behind"


def test_a_seat_can_be_the_hero():
    made = fight([(300, 1, 40), (900, 0, 20)])
    assert best_moment(made, 4).why.startswith(NAMES[0])
    assert best_moment(made, 4, (1,)).why == f"{NAMES[1]} deals 20%"


def test_a_fight_without_a_hit_has_no_moment():
    assert best_moment(fight(frames=30), 12) == (0.0, 0.0, "neither player gains on the other", 0)


def test_gaps_and_unknown_numbers_are_no_obstacle():
    made = fight([(300, 1, 40)])
    made.players["percent"][:10] = np.nan
    made.players["hitstun"] = np.nan
    made.frames[900:] += 5000
    assert best_moment(made, 12).gain == 40
