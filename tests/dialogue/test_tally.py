import re
import time

import pytest

pytest.importorskip("transformers", reason="needs the extra: pip install -e '.[dialogue]'")

from selfplay.dialogue import tally
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.dialogue.players import load_model
from selfplay.dialogue.runner import DialogueCollector, DialogueOrder, Played
from selfplay.dialogue.tally import Tally, progress_line
from tests.dialogue.language.stub_server import SGLANG, Stub
from tests.dialogue.language.taught import GREEDY, kuhn, passes_or_bets, taught_model
from tests.dialogue.test_app import run

BOTH = (Tally(3, 40, 2_000), Tally(1, 20, 1_000))


@pytest.mark.parametrize(
    ("usual", "eta"),
    [(240, ", ETA 0:00:45"), (None, ", ETA 0:00:45"), (60, ""), (50, "")],
)
def test_the_line_tells_replies_speed_and_the_time_left(usual, eta):
    assert progress_line(7, BOTH, 16, 15.0, usual) == f"Iter 7: 4 of 16 games, 60 replies, 200 tokens/s{eta}"


def test_before_a_first_game_has_ended_there_is_no_estimate():
    assert progress_line(1, [Tally(0, 9, 300)], 16, 15.0, None) == "Iter 1: 0 of 16 games, 9 replies, 20 tokens/s"


def test_every_reply_and_token_is_counted():
    counted = Tally()
    collector = DialogueCollector(*kuhn(), LocalWriter(taught_model(), GREEDY))
    games = collector.collect(DialogueOrder((0, 1), (3, 4), 4), counted)
    assert all(isinstance(game, Played) for game in games)
    assert counted.replies == sum(len(game.turns) for game in games)
    assert counted.tokens == sum(instance.written for game in games for instance in game.instances)


@pytest.mark.blocking("a writer has an event loop of its own, on which nobody else waits")
def test_a_slow_iteration_tells_how_far_it_is(kuhn_start, tmp_path, monkeypatch):
    monkeypatch.setattr(tally, "EVERY_S", 0.2)
    guess = passes_or_bets(load_model(str(kuhn_start)).chat)

    def slowly(number):
        time.sleep(0.02)

    with Stub(SGLANG, guess, slowly) as stub:
        options = ("--server-url", stub.url, "--server-frozen", "--games", 64, "--kl", 0, "--set", "server.in_flight=1")
        code, shown = run(tmp_path / "run", kuhn_start, *options)
    assert code == 0
    found = re.findall(r"Iter (\d): (\d+) of 32 games, (\d+) replies, (\d+) tokens/s(, ETA \d:\d\d:\d\d)?\n", shown)
    assert {line[0] for line in found} == {"1", "2"}
    assert any(int(replies) > 0 and int(speed) > 0 for _, _, replies, speed, _ in found)
    assert any(eta for iteration, *_, eta in found if iteration == "2")  # by the replies of the first
    assert "Iter 1: " in (tmp_path / "run" / "log.txt").read_text()
