"""What a file of a sweep may say, and what is said of the rest."""

import pytest

from selfplay.errors import ConfigError
from selfplay.games.errors import GameError
from selfplay.sweep.plan import plan_of
from selfplay.sweep.settings import read_sweep

GOOD = {
    "game_type": '"rps"',
    "timesteps": "1024",
    "seeds": "[0, 1]",
    "settings.ppo": "{ learning_rate = [1e-3, 1e-2], epochs = [1, 2] }",
    "settings.net": "{ hidden = [[8]], activation = 'relu' }",
}


def planned(folder, **changes):
    """The plan of the good file with some lines changed; None leaves a line out."""
    path = folder / "sweep.toml"
    lines = {**GOOD, **{name.replace("__", "."): text for name, text in changes.items()}}
    path.write_text("".join(f"{name} = {text}\n" for name, text in lines.items() if text is not None))
    return plan_of(read_sweep(path), path)


def test_lists_are_combined_and_other_values_are_shared(tmp_path):
    plan = planned(tmp_path)
    assert [(v["ppo.learning_rate"], v["ppo.epochs"]) for v in plan.first] == [
        (1e-3, 1),
        (1e-3, 2),
        (1e-2, 1),
        (1e-2, 2),
    ]
    given = plan.given(plan.first[1], seed=1, share=0.5)
    assert given == {
        "net.activation": "relu",
        "net.hidden": [8],
        "ppo.learning_rate": 1e-3,
        "ppo.epochs": 2,
        "run.timesteps": 512,
        "run.seed": 1,
    }


def test_minutes_are_a_length_too(tmp_path):
    plan = planned(tmp_path, timesteps=None, minutes="0.5")
    assert plan.given(plan.first[0], seed=0, share=0.5)["run.max_minutes"] == 0.25


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"timestep": "4"}, r"key timestep: unknown, did you mean timesteps\? \(valid: game_type, preset,"),
        ({"judge": '{ by = "exact", game = 4 }'}, r"key judge.game: unknown \(valid: by, games"),
        ({"method": '{ name = "grid", samples = 4 }'}, r"key method.samples: unknown \(valid: name\)"),
        ({"method": '"bayes"'}, r"method bayes: unknown \(valid: grid, random, halving, optuna\)"),
        ({"method": '"random"'}, "method.random.samples is missing"),
        ({"seeds": None}, "seeds is missing"),
        ({"seeds": "[1, 1]"}, "seeds: one is there twice"),
        ({"minutes": "1"}, "either timesteps or minutes is needed"),
        ({"timesteps": "0"}, "timesteps: .*greater than or equal to 1"),
        ({"settings.ppo": "{ gama = [0.9, 1.0] }"}, r"\[settings\]: unknown setting 'ppo.gama', did you mean ppo.gam"),
        ({"settings.ppo": "{ gamma = [0.9, 1.5] }"}, "ppo.gamma = 1.5, net.hidden = 8: --gamma 1.5: at most 1"),
        ({"settings.ppo": "{ gamma = [] }"}, "ppo.gamma: the list is empty"),
        ({"settings.ppo": "{ gamma = [0.9, 0.9] }"}, "ppo.gamma: 0.9 is there twice"),
        ({"settings.ppo": "{ gamma = 0.9 }", "settings.net": None}, "no setting has a list of values or a range"),
        ({"settings.ppo": "{ gamma = { low = 0.9, high = 0.99 } }"}, "ppo.gamma is a range, which needs samples"),
        ({"settings.ppo": "{ gamma = { low = 0.9, hi = 1 } }"}, r"unknown key 'hi' \(valid: low, high, log\)"),
        ({"settings.ppo": "{ gamma = { low = 0.9, high = 0.1 } }"}, "low 0.9 must be below high 0.1"),
        ({"settings.ppo": "{ teacher_kl = [0.1, 0.2] }"}, "teacher_kl = 0.1, .*--teacher-kl needs a policy to start"),
        ({"settings.league": "{ gate = ['sprt', 'none'] }"}, "--gate decides by rating games: add --track-elo"),
        ({"settings.run": "{ seed = [1, 2] }"}, r"\[settings\] run.seed: it is given by seeds"),
        ({"game_type": '"rpss"'}, "--game-type rpss: unknown, did you mean rps"),
        ({"game_type": '"matching"', "settings.ppo": "{}"}, "matching is a text game"),
        ({"preset": '"bord"'}, "--preset bord: unknown, did you mean board"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(tmp_path, changes, words):
    with pytest.raises((ConfigError, GameError), match=words) as error:
        planned(tmp_path, **changes)
    assert "\n" not in str(error.value)


def test_what_is_no_toml_is_said(tmp_path):
    (tmp_path / "a.toml").write_text("seeds = [")
    with pytest.raises(ConfigError, match=r"a\.toml: not TOML"):
        read_sweep(tmp_path / "a.toml")
    with pytest.raises(ConfigError, match=r"b\.toml: No such file"):
        read_sweep(tmp_path / "b.toml")
