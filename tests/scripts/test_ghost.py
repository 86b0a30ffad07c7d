"""A ghost: a policy from the games of one person."""

import sys

import pytest
import torch

from selfplay.league.schedule import pairings_of
from selfplay.learner.imitation import Lesson
from selfplay.policy.heads import Heads
from selfplay.runner.match import Contender
from selfplay_melee.commands import ghost as making
from selfplay_melee.commands.cli import ghost
from selfplay_melee.commands.record import orders_of, record
from tests.scripts.commands import mistake
from tests.support.fight_rules import fight_rules


def games_of_rusher(folder, games, frames):
    players, rules = {name: Contender(name) for name in ("rusher", "idle")}, fight_rules(max_episode_frames=frames)
    pairings = pairings_of(["rusher"], ["idle"], games, ("fox", "mewtwo"), 0)
    list(record(orders_of(pairings, rules, 0, folder), players, rules))
    return folder


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return games_of_rusher(tmp_path_factory.mktemp("few"), 2, 40)


def call(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["selfplay ghost", *map(str, arguments)])
    return ghost.main()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rusher", "--games", "FEW"], "2 games of rusher can be used, and 10 are needed: play 8 more"),
        (["rushr", "--games", "FEW"], "nobody is player 'rushr' (valid: "),
        (["rusher", "--games", "nowhere"], "no such folder of replays"),
        (["rusher"], "--games"),
        (["rusher", "--games", "FEW", "--minutes", "0"], "--minutes 0: more than 0 is needed"),
        (["rusher", "--games", "FEW", "--checkpoint", "FEW"], "exists; another folder is named by --checkpoint"),
    ],
)
def test_mistakes_are_one_clear_line(few, tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    named = [str(few) if argument == "FEW" else argument for argument in arguments]
    assert words in mistake(capsys, "selfplay ghost", lambda: call(monkeypatch, *named))


def test_agreement_counts_whole_actions():
    action = torch.tensor([[1, 2], [1, 0], [0, 1], [0, 1]], dtype=torch.int8)
    last = torch.tensor([[1, 2], [1, 2], [0, 1], [1, 1]], dtype=torch.int8)
    logits = torch.tensor([[5.0, 0.0, 0.0, 5.0]]).repeat(4, 1)  # pressed, and the third class

    class Fixed:
        """A network that always gives these logits."""

        heads, memory_width = Heads(1, (3,)), 0

        def first_memory(self, lanes):
            return torch.zeros(lanes, 0)

        def __call__(self, obs):
            return logits[: len(obs)], None

    lessons = [Lesson(torch.zeros(4, 2), action, last)]
    found = making.agreement(Fixed(), lessons)
    assert (found.decisions, found.policy, found.repeating) == (4, 0.25, 0.5)


@pytest.mark.full
def test_both_steps_are_one_command(tmp_path, monkeypatch, capsys):
    folder = games_of_rusher(tmp_path / "games", 10, 200)
    size = ("--num-games", 4, "--rollout-length", 16, "--timesteps", 64, "--max-episode-frames", 120)
    small = [*map(str, size), "--set", "ppo.critic_burn_in=0", "--no-track-elo"]
    flags = making.training_flags
    monkeypatch.setattr(making, "training_flags", lambda *about: [*flags(*about), *small])
    monkeypatch.chdir(tmp_path)
    assert call(monkeypatch, "rusher", "--games", folder, "--epochs", 1, "--matches", 2) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Next action of rusher in 2 games held out"))
    assert [line.split()[-1][-1] for line in lines[start + 1 : start + 4]] == ["%"] * 3
    assert lines[start + 5].endswith(" against itself")
    assert [word for word in ("10 games", "2 games") if word in lines[start + 6]] == ["10 games", "2 games"]
    assert (tmp_path / "checkpoints" / "ghost-rusher" / "run.json").exists()
