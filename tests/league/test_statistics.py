import pytest

from selfplay.league.statistics import chi2_above, normal_below


@pytest.mark.parametrize(
    ("value", "df", "expected"),
    [(3.841459, 1, 0.05), (18.307038, 10, 0.05), (29.588298, 10, 1e-3), (124.342113, 100, 0.05), (5.0, 10, 0.891178)],
)
def test_chi_square_tails_are_those_of_the_tables(value, df, expected):
    assert chi2_above(value, df) == pytest.approx(expected, rel=1e-5)


def test_the_ends_of_chi_square():
    assert chi2_above(0.0, 3) == 1.0
    assert 0.0 < chi2_above(200.0, 100) < 1e-7
    assert chi2_above(1e4, 3) < 1e-300


def test_normal_tails():
    assert normal_below(0.0) == 0.5
    assert normal_below(1.959964) == pytest.approx(0.975)
    assert normal_below(-8.0) == pytest.approx(6.22e-16, rel=1e-2)
