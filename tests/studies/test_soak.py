import pytest

from scripts.studies.soak.run import COUNTS, MORE, MORE_SHORT, Sample, failures, judged, slope, table, thirds

GOOD = {
    "game": "mock", "command": "python -m scripts.studies.soak", "date": "2026-11-22", "processor": "one", "cores": 2,
    "minutes": 30.0, "exit_code": 130, "iterations": 100, "median_gap_s": 0.2, "longest_gap_s": 3.0, "runners": 2,
    "restarts": 5, "abandoned": 0, "chaos": {"crash": {"injected": 9, "detected": 9, "recovered": 8, "lost": 9}},
    "judged_s": 1500.0, "memory_mb": 400.0, "memory_mb_a_minute": 0.2, "tree_mb": 600.0, "tree_mb_a_minute": 0.1,
    **dict.fromkeys(COUNTS, (9.0, 9.0)), "processes_left": 0, "temporary_files_left": 0,
}  # fmt: skip


def test_a_slope_is_a_minute_and_no_outlier_moves_it():
    line = [(float(t), 100 + 2 * t / 60) for t in range(900)]
    assert slope(line) == pytest.approx(2.0)
    assert slope([(t, 500.0 if 300 <= t < 330 else v) for t, v in line]) == pytest.approx(2.0, abs=0.2)
    assert slope([(t, 7.0) for t, _ in line]) == 0.0
    assert slope([(0.0, 1.0)]) == 0.0
    assert slope([(float(t), float(t)) for t in range(9)]) == pytest.approx(60.0)  # of a short run, too


def test_thirds():
    assert thirds([(float(t), float(t)) for t in range(9)]) == (1.0, 7.0)
    assert thirds([(0.0, 3.0)]) == (3.0, 3.0)
    assert thirds([]) == (0.0, 0.0)


def test_the_warm_up_is_not_judged():
    samples = [Sample(float(t), min(t, 500) * 1.0, 900.0, 12, 8, 2) for t in range(1500)]
    found = judged(samples, [(float(t), 9.0 if t > 300 else 99.0) for t in range(1500)])
    assert found["judged_s"] == 1199.0
    assert found["memory_mb"] == 500.0
    assert found["memory_mb_a_minute"] == 0.0  # it grew for 200 of 1,199 s: the median does not see that
    assert found["tasks"] == (9.0, 9.0)
    assert found["processes"] == (2.0, 2.0)
    short = judged(samples[:90], [])
    assert short["judged_s"] == pytest.approx(89 * 2 / 3, abs=0.1)


def test_a_flat_run_is_as_it_should_be():
    assert failures(GOOD) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"memory_mb_a_minute": 1.0}, "grew by 1.00 MB a minute"),
        *(({name: (9.0, 9.0 + MORE + 1)}, f"{name}: 9 at first, 12 at the end") for name in COUNTS),
        ({"exit_code": None}, "exit code None"),
        ({"exit_code": 0}, "exit code 0"),
        ({"processes_left": 1}, "processes_left is 1"),
        ({"temporary_files_left": 2}, "temporary_files_left is 2"),
        ({"iterations": 0}, "no iteration"),
        (
            {"chaos": {"kill": {"injected": 9, "detected": 9, "recovered": 6, "lost": 9}}},
            "of kind kill were injected, 6",
        ),
    ],
)
def test_what_is_not_is_told(change, words):
    (told,) = failures({**GOOD, **change})
    assert words in told


def test_a_short_run_says_little():
    short = {**GOOD, "judged_s": 60.0}
    assert failures({**short, "memory_mb_a_minute": 16.0, "threads": (9.0, 9.0 + MORE_SHORT)}) == []
    assert len(failures({**short, "threads": (9.0, 10.0 + MORE_SHORT)})) == 1


def test_the_table_has_a_column_for_each_soak():
    lines = table([GOOD, {**GOOD, "game": "kuhn_text", "chaos": None}]).splitlines()
    assert lines[0] == "| | mock, 30 minutes | kuhn_text, 30 minutes |"
    assert "| faults: injected, detected, recovered, segments lost | crash 9, 9, 8, 9 |  |" in lines
    assert "| threads, in the first and the last third | 9, 9 | 9, 9 |" in lines
