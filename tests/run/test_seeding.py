from hypothesis import given
from hypothesis import strategies as st

from selfplay.seeding import derive

NAMES = st.lists(st.one_of(st.integers(0, 9), st.text("ab", min_size=1, max_size=3)), max_size=3).map(tuple)


@given(st.integers(0, 2**63 - 1), NAMES)
def test_seeds_fit_every_generator_and_repeat(seed, names):
    found = derive(seed, *names)
    assert 0 <= found < 2**63
    assert derive(seed, *names) == found


def test_seeds_are_the_same_on_every_machine_and_version():
    assert derive(7, "runner-000", 2) == 4969500860266588158


def test_a_name_that_is_not_utf_8_has_a_seed():
    assert derive(7, "games \udcff") != derive(7, "games \udcfe")


def test_different_names_give_different_streams():
    names = [(run, runner, incarnation) for run in range(5) for runner in ("a", "b", "ab") for incarnation in range(20)]
    assert len({derive(run, runner, incarnation) for run, runner, incarnation in names}) == len(names)
