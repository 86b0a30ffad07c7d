import pytest

pytest.importorskip("transformers", reason="needs the extra: pip install -e '.[dialogue]'")

from selfplay.dialogue import memory
from selfplay.dialogue.cli.flags import parse
from selfplay.dialogue.program import resolve_dialogue
from selfplay.dialogue.rules import game_of
from selfplay.errors import ConfigError
from selfplay.memory_limits import GB, Available


def resolved(monkeypatch, *arguments, there=16 * GB):
    monkeypatch.setattr(memory, "available_memory", lambda: Available(there, "this container"))
    monkeypatch.setattr(memory, "resident_memory", lambda: 0)
    invocation = parse(list(arguments))
    config = resolve_dialogue(invocation.config, invocation.explicit)
    memory.check_dialogue_memory(config, *game_of(config), resumed=False)


@pytest.mark.parametrize("game", ["kuhn_text", "matching"])
@pytest.mark.parametrize("games", ["1e9", "1e7"])
def test_too_many_games_are_refused(monkeypatch, game, games):
    with pytest.raises(ConfigError) as caught:
        resolved(monkeypatch, "--game-type", game, "--num-games", games)
    message = str(caught.value)
    assert message.startswith("the run needs at least ")
    assert message.endswith(f"of memory, and this container has 16.0 GB for it: lower --num-games {float(games):.0f}")


@pytest.mark.parametrize("game", ["kuhn_text", "matching"])
def test_usual_runs_pass(monkeypatch, game):
    resolved(monkeypatch, "--game-type", game, there=GB)


def test_keys_and_values_count_up_to_the_limit_of_the_store():
    few, many, most = (memory._kept_keys_and_values(count) for count in (1000, 2000, 10**9))
    assert many == 2 * few
    assert most == 4 * GB
