import pytest

from tests.scripts.commands import run


@pytest.mark.parametrize(
    ("script", "arguments", "words"),
    [
        ("start_study.py", ("--policy", "p", "--seeds", "a"), "--seeds: 'a' is no list of whole numbers such as 0,1,2"),
        ("start_study.py", ("--policy", "p", "--teacher-kl", "0,x"), "--teacher-kl: '0,x' is no list of weights"),
        ("start_study.py", ("--policy", "p", "--parts", "x"), "--parts x: unknown (valid: train, games, page)"),
        ("backbone_study.py", ("--replays", "r", "--folds", "a"), "--folds: 'a' is no list of whole numbers"),
        ("backbone_study.py", ("--replays", "r", "--folds", "5"), "--folds 5: unknown (valid: 0, 1, 2, 3, 4)"),
        ("mode_study.py", ("--seeds", "1,,2"), "--seeds: '1,,2' is no list of whole numbers"),
        ("learn_study.py", ("--seeds", "-1"), "--seeds"),
        ("chaos_study.py", ("--seeds", "a"), "--seeds: 'a' is no list of whole numbers such as 0,1,2"),
        ("chaos_study.py", ("--parts", "x"), "--parts x: unknown (valid: train, games, page)"),
        ("bench_growth.py", ("--quick", "--write"), "--write puts a whole measurement into docs/"),
        ("chaos_study.py", ("--games", "1"), "--games 1: at least 2 are needed"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, script, arguments, words):
    refused = run(script, *arguments, cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"{script}: ")
    assert words in refused.stderr
    assert refused.stderr.count("\n") == 1
