"""Some documents with values of other types: each command ends well, or says in a short line what is wrong."""

import json
from shutil import copytree

import pytest

from scripts.studies.wrong_types.__main__ import DATA, PAGE, sentence, total
from scripts.studies.wrong_types.calls import call
from scripts.studies.wrong_types.mutate import ABSENT, LONG, VALUES, mutations, places, replaced
from scripts.studies.wrong_types.worlds import IMITATION, LEAGUE, WORLDS, Document
from tests.run.runs import train

STATE, POLICY = "learner/iter_1/learner.json", "generations/gen_1/policy.json"
RESUME, RATE = "train --resume --checkpoint run --timesteps 64", "rate run --budget 2"
SMALL = ("--game-type", "kuhn", "--num-games", 4, "--rollout-length", 8, "--hidden", 8, "--set", "run.threads=1")
LONG_TEXT = "x" * LONG
HUGE = 10**400
ANCHORS = {"settings": "0" * 12, "described": {}, "rating": {"random": 0}, "se": {"random": 0}, "games": 1, "seed": 0}
CASES = [
    ("run.json", "config", "x", RATE, "its configuration cannot be used"),
    ("run.json", "config", [], RATE, "its configuration cannot be used"),
    ("run.json", "config", None, RATE, "its configuration cannot be used"),
    ("run.json", "config.net", "x", RATE, "its configuration cannot be used: net: "),
    ("run.json", "config", "x", RESUME, ""),  # the state has the configuration
    ("best.json", "best", LONG_TEXT, "evaluate run random --games 2", "best.json: best is 'xxx"),
    ("run.json", "config.ppo", "x", "leaderboard run --html page.html", ""),
    ("run.json", "started", "0001-01-01T00:00:00+14:00", "leaderboard run --html page.html", ""),
    (STATE, "extra.gate", {"format": "x"}, RESUME, "learner.json: extra.gate.format: "),
    (STATE, "extra.chaos", [], RESUME, "learner.json: extra.chaos: "),
    (STATE, "matchmaker.generations", 0, RESUME, "learner.json: matchmaker.generations: "),
    (STATE, "matchmaker.rng", {}, RESUME, "not a matchmaker's state"),
    (STATE, "opponents.runner-000.opponents", [["x"]], RESUME, "learner.json: opponents.runner-000.opponents.0"),
    (STATE, "matchmaker.rng.state.state", HUGE, RESUME, "not a matchmaker's state"),
    (STATE, "config.run.threads", HUGE, RESUME, "its configuration cannot be used: run.threads: "),
    ("ledger.jsonl", "seats.0", "x", RESUME, "ledger.jsonl:1: not a game record: seats.0: "),
    ("ledger.jsonl", "match", 1.5, "leaderboard run", "ledger.jsonl:1: not a game record: match: "),
    ("ledger.jsonl", "rewards", ["x", 1], "leaderboard run", "ledger.jsonl:1: not a game record: rewards.0: "),
    (STATE, "config.game.stage", LONG_TEXT, RESUME, "its configuration cannot be used: game.stage: "),
    (STATE, "ledger_position", 10**6, RESUME, "ledger.jsonl has "),
    ("anchors.json", "rating", "x", RESUME, "anchors.json: rating: "),
    (STATE, "generations", [], RESUME, "iter_1 cannot be used: "),
    (STATE, "config.net", ABSENT, RESUME, "iter_1 cannot be used: the weights do not fit"),
    (STATE, "config.game.type", LONG_TEXT, RESUME, "is not known here"),
    (POLICY, "network.activation", LONG_TEXT, "evaluate run random --games 2", "policy.json: network.activation: "),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder with a run of one iteration, with a few rating games."""
    folder = tmp_path_factory.mktemp("wrong_types")
    code, _ = train(folder / "run", "--track-elo", "--timesteps", 32, "--set", "run.deterministic=true", size=SMALL)
    assert code == 0
    (folder / "run" / "best.json").write_text('{"best": "gen_1"}')
    (folder / "run" / "anchors.json").write_text(json.dumps(ANCHORS))
    return folder


@pytest.mark.parametrize(
    ("path", "field", "value", "line", "words"),
    CASES,
    ids=[f"{path}-{field}-{str(value)[:9]}-{line.split()[0]}" for path, field, value, line, _ in CASES],
)
def test_a_value_of_another_type_is_one_short_line(run, tmp_path, path, field, value, line, words):
    copytree(run, tmp_path / "copy")
    document = Document(f"run/{path}", (line,), signed=path in (STATE, POLICY))
    sound = (run / "run" / path).read_bytes()
    first, end, rest = sound.partition(b"\n") if path.endswith(".jsonl") else (sound, b"", b"")
    place = tuple(int(key) if key.isdigit() else key for key in field.split("."))
    document.put(tmp_path / "copy", json.dumps(replaced(json.loads(first), place, value)).encode() + end + rest)
    ended = call(tuple(line.split()), tmp_path / "copy")
    assert ended.fault == ""
    assert ended.code == (2 if words else 0)
    assert words in ended.said


def test_every_value_of_a_document_is_replaced_by_each_other():
    document = {"a": 1, "b": [{"c": 2}, 3, 4], "d": {}}
    assert list(places(document)) == [(), ("a",), ("b",), ("b", 0), ("b", 0, "c"), ("b", 1), ("d",)]
    found = [(place, name) for place, name, _ in mutations(json.dumps(document).encode() + b"\nrest\n", "rows")]
    assert found == [(place, name) for place in places(document) for name in VALUES]
    assert replaced(document, ("b", 0, "c"), "x") == {"a": 1, "b": [{"c": "x"}, 3, 4], "d": {}}
    assert replaced(document, ("a",), ABSENT) == {"b": [{"c": 2}, 3, 4], "d": {}}


@pytest.mark.parametrize(
    ("form", "data", "words"),
    [("csv", b"a,b\n1,2\n", b"a,b\r\nx,2\r\n"), ("toml", b"[a]\nb = 1\n", b'a = {"b" = "x"}\n')],
)
def test_tables_are_mutated_as_what_they_are(form, data, words):
    assert words in [content for _, _, content in mutations(data, form)]


def test_the_page_shows_the_counts_of_the_newest_run():
    kept = json.loads(DATA.read_text("utf-8"))
    assert sentence(kept["documents"]) in PAGE.read_text("utf-8")
    assert kept["total"] == total(kept["documents"])
    assert {row["document"] for row in kept["documents"]} == {one.path for world in WORLDS for one in world.documents}


@pytest.mark.parametrize(
    ("world", "field", "value", "words"),
    [
        (LEAGUE, "extra", ABSENT, "it has no main_exploiter"),
        (IMITATION, "extra.standing.sums.skipped", HUGE, "is no state of imitation: sums.skipped: "),
    ],
    ids=["league", "imitation"],
)
def test_a_state_of_another_kind_of_run_is_checked_as_well(world, field, value, words, tmp_path):
    world.make(tmp_path / "world")
    state = next(one for one in world.documents if one.path.endswith("learner.json"))
    sound = json.loads((tmp_path / "world" / state.path).read_bytes())
    state.put(tmp_path / "world", json.dumps(replaced(sound, tuple(field.split(".")), value)).encode())
    ended = call(tuple(state.reads[0].split()), tmp_path / "world")
    assert ended.fault == ""
    assert ended.code == 2
    assert words in ended.said
