import pytest

from selfplay.dialogue.report.health import RULES, DialogueHealth
from selfplay.report.health import WINDOW
from tests.dialogue.report.talks import UPDATE, dialogue_report


def said(count=WINDOW, health=None, of=lambda i: {}):
    """Names of what is found over some iterations."""
    health = health or DialogueHealth()
    return [
        finding.name
        for i in range(1, count + 1)
        for finding in health.observe({"iteration": i, **dialogue_report(i, **of(i)).flat()})
    ]


def update(**changes):
    return lambda i: {"update": UPDATE | changes}


BAD = {
    "nothing_learned": update(steps=0),
    "no_game_ends": lambda i: {"agreement": 0.0, "endings": {"turns": 64}},
    "entropy_collapse": update(entropy=0.001),
    "nothing_to_compare": lambda i: {"zero_variance": 0.97},
    "agreement_falls": lambda i: {"agreement": 0.9 if i < 26 else 0.5},
    "broken_replies": lambda i: {"endings": {"agreed": 50, "refused": 7, "cut_off": 7}},
    "stale_data": update(clip_fraction=0.5),
    "other_weights": update(sampler_kl=0.3),
    "not_finite": update(skipped=1),
    "lost_games": lambda i: {"lost": i},
    "restarts": lambda i: {"restarts": i},
}


def test_a_good_run_is_left_alone():
    assert said() == []


def test_every_rule_has_a_case():
    assert BAD.keys() == RULES.keys()


@pytest.mark.parametrize("name", BAD)
def test_each_ill_is_found_once(name):
    assert said(of=BAD[name]) == [name]


@pytest.mark.parametrize("name", ["nothing_learned", "no_game_ends"])
def test_runs_in_which_nothing_can_be_learned_are_told_after_three_iterations_and_at_the_end(name):
    assert said(2, of=BAD[name]) == []
    assert said(3, of=BAD[name]) == [name]
    health = DialogueHealth()
    assert said(1, health, BAD[name]) == []
    assert [finding.name for finding in health.end()] == [name]
    assert [finding.name for finding in health.findings()] == [name]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"frozen": True, "update": UPDATE | {"sampler_kl": 1.17}}, "leave out --server-frozen"),
        ({"frozen": True, "update": UPDATE | {"kl": 1.17}}, "leave out --server-frozen"),  # it gives no probabilities
        ({"update": UPDATE | {"sampler_kl": 1.17}}, "does not take the weights that it is sent"),
    ],
)
def test_a_server_with_other_weights_is_found_within_five_iterations(changes, words):
    health = DialogueHealth()
    found = []
    for i in range(1, 6):
        grown = {name: value * i / 5 for name, value in changes["update"].items() if name in ("sampler_kl", "kl")}
        report = dialogue_report(i, **{**changes, "update": changes["update"] | grown})
        found += health.observe({"iteration": i, **report.flat()})
    assert [finding.name for finding in found] == ["other_weights"]
    (finding,) = health.findings()
    assert "KL 0.94 nats a token in the last iterations, 0.47 in the first ones" in finding.text
    assert words in finding.text


def test_rows_of_a_file_may_lack_figures():
    health = DialogueHealth()
    for i in range(WINDOW):
        assert health.observe({"iteration": i, "losses/entropy": None}) == ()
