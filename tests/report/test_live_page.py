"""The live page in a real browser, beside a training that is killed and resumed, and a server that is killed, too."""

import re

import pytest

from selfplay_melee import mock
from tests.report.browsers import LIMIT_MS, browser  # noqa: F401
from tests.scripts.commands import read_until, start, wait_for

pytestmark = [
    pytest.mark.blocking("the loop that runs in this thread is Playwright's own"),
    pytest.mark.full,
    pytest.mark.timeout(600),
]
TRAINING = (
    *("--game-type", "mock", "--num-games", 4, "--rollout-length", 32, "--timesteps", 500_000, "--hidden", "16"),
    *("--save-interval", 4, "--track-elo", "--rating-share", "1", "--max-episode-frames", 300),
)
LOST = "Failed to load resource: net::ERR_"  # Chromium itself logs a server that is gone


@pytest.fixture
def page(browser):  # noqa: F811
    """A page that has logged nothing when it closes but that its server was gone."""
    made, errors = browser.new_page(viewport={"width": 1100, "height": 900}), []
    made.set_default_timeout(LIMIT_MS)
    made.on("console", lambda message: errors.append(message.text))
    made.on("pageerror", lambda error: errors.append(str(error)))
    yield made
    made.close()
    assert [error for error in errors if LOST not in error] == []


def serve(folder, port=0):
    """A server of the page of the run, and the page's address."""
    server = start("watch", "run", "--live", "--no-open", "--port", port, cwd=folder)
    return server, read_until(server, "http://")[-1].strip()


def is_in(page, state):
    page.locator(f'body[data-state="{state}"]').wait_for()


def iteration(page):
    found = re.search(r"Iteration ([\d,]+)", page.locator("#figures").inner_text())
    return int(found[1].replace(",", "")) if found else 0


def test_a_training_is_watched_killed_and_resumed_and_the_server_is_killed_and_started_again(tmp_path, page):
    mock.compile_rules()
    with start("train", *TRAINING, "--checkpoint", "run", cwd=tmp_path) as trainer:
        wait_for((tmp_path / "run" / "metrics.jsonl").exists)
        server, address = serve(tmp_path)
        with server:
            page.goto(address)
            is_in(page, "training")
            seen = {iteration(page)}
            for _ in range(5):
                before = max(seen)
                page.wait_for_function(
                    "before => Number(document.getElementById('figures').textContent.match(/Iteration ([\\d,]+)/)?.[1]"
                    ".replaceAll(',', '') ?? 0) > before",
                    arg=before,
                )
                seen.add(iteration(page))
            assert len(seen) == 6
            assert "is at work" in page.locator("#status").inner_text()
            assert page.locator("#training svg").count() > 5
            page.locator("#tree li.running", has_text="runner-000").last.wait_for()
            page.locator('#board tr[data-kind="generation"]').first.wait_for()
            page.locator('#player[data-frame="0"]').wait_for()
            page.get_by_role("button", name="Next frame").click()
            page.locator('#player[data-frame="1"]').wait_for()

            trainer.end()
            is_in(page, "killed")
            assert "The run has ended" in page.locator("#status").inner_text()
            assert "the trainer was killed" in page.locator("#status").inner_text()
            last = iteration(page)

            server.end()
            is_in(page, "lost")
            assert "The server of this page does not answer" in page.locator("#lost").inner_text()
            assert iteration(page) == last

    again, same = serve(tmp_path, int(re.search(r":(\d+)/", address)[1]))
    with again:
        assert same == address
        is_in(page, "killed")
        assert page.locator("#lost").is_hidden()
        resumed = start("train", "--resume", "--checkpoint", "run", "--timesteps", 1_000_000, cwd=tmp_path)
        with resumed:
            is_in(page, "training")
            page.wait_for_function(
                "last => Number(document.getElementById('figures').textContent.match(/Iteration ([\\d,]+)/)[1]"
                ".replaceAll(',', '')) > last",
                arg=last,
            )
