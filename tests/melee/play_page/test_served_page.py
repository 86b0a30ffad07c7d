"""A page that a server hosts, in a real browser: a policy that only Python plays, and the game comes back."""

import signal
import subprocess

import pytest

from selfplay.checkpoint import NetworkSpec
from selfplay.config.ppo import Config
from selfplay.league.ledger import read_records
from tests.melee.commands.test_added_games import GAME, kept
from tests.report.browsers import LIMIT_MS, browser  # noqa: F401  (a fixture)
from tests.run.policies import OBS_WIDTH, save
from tests.scripts import commands
from tests.support.processes import Process

pytestmark = [
    pytest.mark.blocking("the loop that runs in this thread is Playwright's own"),
    pytest.mark.full,
]
MAMBA = NetworkSpec(kind="mamba", obs_width=OBS_WIDTH, hidden=(16, 16))


def test_a_game_on_a_served_page_is_kept_and_rated(browser, tmp_path):  # noqa: F811
    run = save(tmp_path / "run", 10, spec=MAMBA, **GAME)
    run.write_run({"config": Config.model_validate({"game": GAME}).model_dump(mode="json")})
    command = commands.command("play", run.path, "--serve", "--port", 0, "--no-open", "--name", "Ada")
    errors, requests = [], []
    with Process(command, stdout=subprocess.PIPE, env=commands.ENVIRONMENT) as server:
        address = server.stdout.readline().strip()
        page = browser.new_page()
        page.set_default_timeout(LIMIT_MS)
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: requests.append(request.url.partition("?")[0]))
        page.goto(address)
        page.locator("#choices .primary").click()
        page.locator("#kept", has_text="ada").wait_for()
        said = page.locator("#kept").text_content()
        page.close()
        server.send_signal(signal.SIGINT)
        rest = server.stdout.read()
        assert server.wait() == 0
    assert "ada is rated" in said
    assert said in rest
    assert errors == []
    asked = {url for url in requests if not url.startswith("data:")} - {f"{address}kept"}
    assert asked == {address, f"{address}decide", f"{address}games"}
    (row,) = read_records(run.people)
    assert [seat.player for seat in row.seats] == ["person-ada", "gen_10"]
    assert len(kept(run)) == 2
