"""``selfplay.train`` and ``selfplay.evaluate``, in tiny runs."""

import asyncio
import concurrent.futures.thread
import json
import os
import signal
import sys
import threading

import pytest

import selfplay
from selfplay import Config, api
from selfplay.errors import CheckpointError, ConfigError, IncompatibleError, LeagueError
from selfplay.games.errors import GameError
from selfplay.league.ledger import read_games
from tests.games.games import Duel, Nim
from tests.policy import bodies
from tests.policy.bodies import TwoLayers, wide
from tests.run.runs import assert_equal_runs
from tests.support.processes import finish

STEPS = 8 * 32  # of an iteration
SIZE = {
    "run": {"num_games": 8, "timesteps": 2 * STEPS, "threads": 1},
    "ppo": {"rollout_length": 32, "epochs": 1, "batch_size": 128},
    "net": {"hidden": (8,)},
}
OWN = {name: part for name, part in SIZE.items() if name != "net"}  # of a network that has its own widths


def small(**changes):
    return {group: SIZE.get(group, {}) | changes.get(group, {}) for group in SIZE.keys() | changes.keys()}


def metrics(run):
    return [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def nim(tmp_path_factory):
    """A run of a game of the caller's own with a network of the caller's own."""
    return selfplay.train(OWN, game=Nim, network=TwoLayers, checkpoint=tmp_path_factory.mktemp("runs") / "nim")


def test_a_run_of_a_game_and_a_network_of_ones_own(nim):
    assert nim.finished
    assert nim.newest == nim.path / "generations" / "gen_2"
    policy = nim.policy()
    assert policy.meta.network.kind == "tests.policy.bodies:TwoLayers"
    assert policy.meta.config["game"]["type"] == "tests.games.games:Nim"
    assert [row["charts/iteration"] for row in metrics(nim)] == [1, 2]


def test_nothing_is_printed_unless_asked_for(tmp_path, capsys):
    selfplay.train(small(), game="kuhn", checkpoint=tmp_path / "one")
    assert capsys.readouterr() == ("", "")
    selfplay.train(small(), game="kuhn", checkpoint=tmp_path / "two", quiet=False)
    said = capsys.readouterr().out
    assert "Finished after 2 iterations" in said
    header, _, rest = said.partition("\n\n")
    assert header.startswith("═══ Self-Play Training ═══\n")
    assert rest.count("Plain defaults, not preset board, because of --") == 1


def test_a_bare_call_has_the_preset_that_the_command_has(tmp_path, monkeypatch):
    called = []
    monkeypatch.setattr(api, "train_ppo", lambda call, *_: called.append(call) or 1)
    for config, named in ((None, {}), ({}, {"preset": "none"}), (Config(), {}), ({"run": {"timesteps": 5}}, {})):
        with pytest.raises(SystemExit):
            selfplay.train(config, checkpoint=tmp_path / "run", **named)
    assert [call.preset for call in called] == ["laptop", None, None, None]
    assert [call.config.run.num_games for call in called] == [256, 4, 4, 4]


def test_of_a_config_only_what_was_set_counts_as_given(tmp_path):
    config = Config.model_validate(small(game={"type": "kuhn"}))
    run = selfplay.train(config, checkpoint=tmp_path / "run")
    saved = json.loads((run.path / "run.json").read_text())["config"]
    assert saved["game"]["type"] == "kuhn"
    assert saved["ppo"]["rollout_length"] == 32


@pytest.mark.parametrize(
    ("settings", "named", "words"),
    [
        ({"run": {"steps": 1}}, {}, "config: unknown setting 'run.steps'"),
        ({"timesteps": 500}, {}, r"config: 'timesteps' stands outside a group .*, did you mean run\.timesteps\?"),
        ("kuhn", {}, r"config: settings by group are needed, .* not 'kuhn'; the game is named by game="),
        ({"run": 3}, {}, r"config: 'run' stands outside a group such as \[ppo\]"),
        ({"run": {"num_games": 0}}, {}, r"run\.num_games 0: at least 1 is needed"),
        ({"ppo": {"critic_burn_in": 3}}, {}, "^ppo.critic_burn_in needs a policy to start from: run.pretrained PATH$"),
        ({}, {"game": "khun"}, r"game\.type khun: unknown, did you mean kuhn"),
        ({}, {"preset": "bord"}, "preset bord: unknown, did you mean board"),
        ({}, {"network": "gruu"}, r"net\.backbone gruu: unknown, did you mean gru"),
        ({}, {"network": lambda width: None}, "network: '<lambda>' is not at the top level of a module"),
        ({}, {"network": "tests.policy.bodies:Unused"}, "not have been used in the graph"),
        (
            {"net": {"hidden": [8]}},
            {"network": wide},
            r"net\.hidden has no effect: net\.backbone tests.policy.bodies:wide",
        ),
        ({"game": {"stage": "dream_land"}}, {"game": Nim}, r"game\.stage goes with game\.type mock or dolphin"),
    ],
)
def test_mistakes_name_the_setting_and_leave_no_run(tmp_path, settings, named, words):
    with pytest.raises(ConfigError, match=words) as caught:
        selfplay.train(settings, checkpoint=tmp_path / "run", **({"game": "kuhn"} | named))
    assert "--" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_resumed_run_has_the_settings_of_its_own_game(tmp_path, monkeypatch):
    """It may be the newest, or be named by an argument or a setting."""
    monkeypatch.chdir(tmp_path)
    path = str(selfplay.train(small(), game="kuhn").path)
    for place, named in (({}, {}), ({}, {"checkpoint": path}), ({"run": {"checkpoint": path}}, {})):
        with pytest.raises(ConfigError, match=r"reward\.stock goes with .* mock or dolphin; .* kuhn has"):
            selfplay.train({"reward": {"stock": 1.0}, **place}, resume=True, **named)


def test_text_games_take_no_callbacks():
    with pytest.raises(ConfigError, match="matching is a text game: it has no network=, opponents= and callbacks="):
        selfplay.train(game="matching", callbacks=[lambda report: None])


def test_what_lies_in_no_module_is_refused(monkeypatch):
    monkeypatch.setattr(Nim, "__module__", "__main__")
    with pytest.raises(ConfigError, match=r"game: 'Nim' is not at the top level of a module.*my_game\.py"):
        selfplay.train(game=Nim)


# ---- networks

# Names nothing, then, in a process of its own, all, then the game, then the network as well.
NAMING = """
import contextlib, io, json, os, sys
import selfplay
from selfplay.games.errors import GameError
from selfplay.commands.cli import evaluate

policy = sys.argv[1]
flags = [policy, "random", "--game-type", "tests.games.games:Nim", "--games", "2"]


def refusal():
    try:
        selfplay.load_policy(policy)
    except GameError as error:
        assert not [name for name in sys.modules if name.startswith("tests")]
        return str(error)


def told(stream, *more):
    with stream(io.StringIO()) as text:
        sys.argv = ["evaluate", *flags, *more]
        return evaluate.main(), text.getvalue()


first = refusal()
if not (child := os.fork()):  # what is allowed here is allowed in no other process
    for name in ("tests.games.games:Nim", "tests.policy.bodies:TwoLayers"):
        selfplay.allow(name)
    selfplay.load_policy(policy)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
code, second = told(contextlib.redirect_stderr)
third = told(contextlib.redirect_stdout, "--backbone", "tests.policy.bodies:TwoLayers")[1]
print(json.dumps([first, second, code, third]))
"""


def test_code_that_a_policy_names_is_run_only_where_a_person_names_it(nim):
    done = finish([sys.executable, "-c", NAMING, str(nim.newest)], cwd=os.getcwd())
    assert done.returncode == 0, done.stderr
    no_game, no_network, code, games = json.loads(done.stdout.splitlines()[-1])
    assert "add --game-type tests.games.games:Nim" in no_game
    assert "add --backbone tests.policy.bodies:TwoLayers" in no_network
    assert code == 2
    assert "2 games of tests.games.games:Nim" in games


def test_a_run_whose_network_has_changed_is_not_resumed(nim, monkeypatch):
    monkeypatch.setattr(bodies, "TwoLayers", wide)
    with pytest.raises(IncompatibleError, match="the weights do not fit the network"):
        selfplay.train(
            {"run": {"timesteps": 3 * STEPS}},
            game=Nim,
            network="tests.policy.bodies:TwoLayers",
            checkpoint=nim.path,
            resume=True,
        )


def test_players_with_different_networks_meet(nim, tmp_path):
    other = selfplay.train(small(), game=Nim, checkpoint=tmp_path / "other")
    met = selfplay.train(
        small(league={"mode": "opponents", "opponents": [str(nim.newest)]}), game=Nim, checkpoint=tmp_path / "third"
    )
    assert {name for name in metrics(met)[-1] if name.startswith("opponents/")} == {"opponents/external.nim.gen_2"}
    found = selfplay.evaluate(nim, other, games=20)
    assert found == selfplay.evaluate(nim.policy(), other.newest, games=20)
    assert (found.games, found.wins + found.losses) == (20, 20)


# ---- callbacks


def test_callbacks_get_each_report_and_can_end_the_run(tmp_path):
    seen = []

    def first(report):
        seen.append((report.iteration, report.total_steps))

    run = selfplay.train(
        small(run={"timesteps": 100 * STEPS}),
        game="kuhn",
        callbacks=[first, lambda report: report.iteration < 3],
        checkpoint=tmp_path / "run",
    )
    assert seen == [(1, STEPS), (2, 2 * STEPS), (3, 3 * STEPS)]
    assert not run.finished
    assert run.newest.name == "gen_3"
    assert "Ended by a callback, and saved, after 3 iterations" in (run.path / "log.txt").read_text()


def test_an_error_in_a_callback_is_raised_once_the_run_is_saved(tmp_path):
    def fails(report):
        if report.iteration == 2:
            raise ZeroDivisionError("mine")

    many = {"timesteps": 100 * STEPS}
    with pytest.raises(ZeroDivisionError, match="mine"):
        selfplay.train(small(run=many), game="kuhn", callbacks=[fails], checkpoint=tmp_path / "run")
    longer = {"run": {"timesteps": 3 * STEPS}}
    run = selfplay.train(longer, checkpoint=tmp_path / "run", resume=True)
    assert [row["charts/iteration"] for row in metrics(run)] == [1, 2, 3]


# ---- opponents


def newest_and_random(candidates, count, rng):
    """Half of the games against a random player, half against the newest generation."""
    generations = [each for each in candidates if each.kind == "generation"]
    scripted = next(each for each in candidates if each.id == "random")
    return [(scripted, generations[-1])[int(i)] for i in rng.integers(2, size=count)]


def test_opponents_are_those_that_were_chosen(tmp_path):
    asked = []

    def choose(candidates, count, rng):
        asked.append((candidates, count))
        return newest_and_random(candidates, count, rng)

    settings = small(run={"timesteps": 4 * STEPS, "save_interval": 1})
    run = selfplay.train(settings, game=Nim, opponents=choose, checkpoint=tmp_path / "run")
    met = {name for row in metrics(run) for name in row if name.startswith("opponents/")}
    assert "opponents/random" in met
    assert "opponents/gen_3" in met
    assert "opponents/current" not in met
    assert [count for _, count in asked] == [8] * 4
    last = {each.id: each for each in asked[-1][0]}
    assert list(last) == ["current", "random", "gen_0", "gen_1", "gen_2", "gen_3"]
    assert last["random"].games > 0
    assert 0 < last["random"].score < 1


def test_a_resumed_run_needs_the_choice_again_and_goes_on_as_it_would_have(tmp_path):
    run = OWN["run"] | {"timesteps": 4 * STEPS, "save_interval": 2, "deterministic": True}
    mine = {"game": Nim, "network": wide, "opponents": newest_and_random}
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    selfplay.train(OWN | {"run": run}, **mine, checkpoint=whole)
    selfplay.train(OWN | {"run": run | {"timesteps": 2 * STEPS}}, **mine, checkpoint=parts)
    rest = {"run": {"timesteps": 4 * STEPS}}
    with pytest.raises(ConfigError, match="a function chooses its opponents; give train"):
        selfplay.train(rest, game=Nim, network=wide, checkpoint=parts, resume=True)
    selfplay.train(rest, **mine, checkpoint=parts, resume=True)
    assert_equal_runs(whole, parts, generations=["gen_0", "gen_2", "gen_4"])


@pytest.mark.parametrize(
    ("choose", "kind", "words"),
    [
        (lambda candidates, count, rng: candidates[:1], LeagueError, "must give 8 of the candidates"),
        (lambda candidates, count, rng: ["random"] * count, LeagueError, "must give 8 of the candidates"),
        (lambda candidates, count, rng: candidates[count], IndexError, "out of range"),
    ],
)
def test_a_choice_that_cannot_be_ends_the_run(tmp_path, choose, kind, words):
    with pytest.raises(kind, match=words):
        selfplay.train(small(), game="kuhn", opponents=choose, checkpoint=tmp_path / "run")


# ---- where it runs


@pytest.mark.blocking("a caller may train in a thread with an event loop, as notebooks do")
@pytest.mark.parametrize("main_thread_has_ended", [False, True])
def test_it_runs_where_an_event_loop_runs(tmp_path, monkeypatch, main_thread_has_ended):
    monkeypatch.setattr(concurrent.futures.thread, "_shutdown", main_thread_has_ended)

    async def cell():
        return selfplay.train(small(), game="kuhn", checkpoint=tmp_path / "run")

    assert asyncio.run(cell()).finished


def interrupt():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


@pytest.mark.blocking("a caller may train in a thread with an event loop, as notebooks do")
def test_ctrl_c_beside_an_event_loop_ends_the_run_in_order(tmp_path):
    async def cell():
        selfplay.train(
            small(run={"timesteps": 10_000 * STEPS}),
            game="kuhn",
            callbacks=[lambda report: interrupt() if report.iteration == 2 else None],
            checkpoint=tmp_path / "run",
        )

    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(cell())
    finally:
        loop.close()
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert not summary["finished"]
    assert summary["newest"] == f"gen_{summary['iteration']}"


def test_ctrl_c_ends_the_run_in_order(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        selfplay.train(
            small(run={"timesteps": 10_000 * STEPS}),
            game="kuhn",
            callbacks=[lambda report: interrupt() if report.iteration == 2 else None],
            checkpoint=tmp_path / "run",
        )
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["iteration"] in (2, 3)


def test_it_trains_on_after_the_main_thread_has_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(concurrent.futures.thread, "_shutdown", True)  # as the interpreter sets it then
    settings = small(league={"track_elo": True}, run={"timesteps": STEPS, "threads": 2})
    run = selfplay.train(settings, game="kuhn", checkpoint=tmp_path / "run")
    assert run.finished
    assert len(read_games(run.path / "ledger.jsonl"))


@pytest.mark.parametrize("call", ["selfplay.train(game=GAME)", "selfplay.evaluate('random', 'random', game=GAME)"])
def test_a_module_that_starts_training_where_it_is_imported_is_refused(tmp_path, monkeypatch, call):
    name = f"unguarded_{call[9]}"
    text = f"import selfplay\nfrom tests.games.games import Nim\nGAME = '{name}:Nim'\n{call}\n"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(GameError, match=f"{name} calls {call.partition('(')[0]} while it is imported; put"):
        selfplay.train(small(), game=f"{name}:Nim", checkpoint=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_fails_in_the_trainer_is_raised(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise CheckpointError("broken")

    monkeypatch.setattr("selfplay.ppo.app.create_run", broken)
    with pytest.raises(CheckpointError, match="broken"):
        selfplay.train(small(), game="kuhn", checkpoint=tmp_path / "run")


# ---- evaluate


def test_players_by_name_folder_and_policy(nim):
    one, *others = (
        selfplay.evaluate(player, "random", games=10) for player in (nim.policy(), nim.newest, str(nim.path))
    )
    assert others == [one, one]
    assert one.games == 10
    assert selfplay.evaluate("random", nim.policy(), games=10).games == 10
    scripted = selfplay.evaluate("equilibrium", "always_bet", games=10, game="kuhn")
    assert scripted.figures == {}


@pytest.mark.parametrize(
    ("players", "options", "kind", "words"),
    [
        (("random", "nobody"), {"game": "kuhn"}, ConfigError, "unknown player 'nobody'"),
        (("random", "random"), {"game": "kuhn", "games": 1}, ConfigError, "^games 1: at least 2 are needed"),
        (("random", "random"), {"game": "matching"}, GameError, "text game"),
    ],
)
def test_mistakes_in_an_evaluation(players, options, kind, words):
    with pytest.raises(kind, match=words):
        selfplay.evaluate(*players, **options)


def test_a_policy_of_another_game_is_refused(nim):
    with pytest.raises(ConfigError, match=r"gen_2 plays tests\.games\.games:Nim, not tests\.games\.games:Duel"):
        selfplay.evaluate(nim.policy(), "random", game=Duel)
