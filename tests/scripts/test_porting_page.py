"""What docs/dialogue/internals/porting.md promises: its commands exist, and show what the page says."""

import ast
import importlib
import os
import re
import shlex
from importlib.util import find_spec

import pytest

from selfplay import verbs
from selfplay.dialogue.cli import flags as dialogue
from tests.dialogue.models import model_folder
from tests.scripts.commands import ROOT, run_shell

PAGE = (ROOT / "docs" / "dialogue/internals/porting.md").read_text(encoding="utf-8").partition("## Differences")[0]
ROW = re.compile(r"^\| (?P<promise>.*?) ?\| `(?P<command>[^`]+)` \| (?P<seen>.+) \|$", re.MULTILINE)
ROWS = [(row["promise"], row["command"], re.findall(r"`([^`]+)`", row["seen"])) for row in ROW.finditer(PAGE)]
COMMANDS = [command for _, command, _ in ROWS]
SHELLS = ("scripts", "selfplay/dialogue/integrations/verl")
BY_PYTEST = ("python -m pytest", "python -m tests.")


def split(command):
    """Variables of a command, and its words."""
    words = shlex.split(command)
    given = 0
    while re.match(r"[A-Z][A-Z0-9_]*=", words[given]):
        given += 1
    return dict(word.split("=", 1) for word in words[:given]), words[given:]


def variables(script):
    """Those that a shell script reads, or the one that it stands on."""
    folder = (ROOT / script).parent
    texts = [(folder / name).read_text() for name in (os.path.basename(script), BASES[str(folder.relative_to(ROOT))])]
    return {name for text in texts for name in re.findall(r"\$\{?([A-Z][A-Z0-9_]{3,})", text)}


BASES = dict(zip(SHELLS, ("run_selfplay_iteration.sh", "run_dialop_selfplay_custom.sh"), strict=True))


def test_every_row_of_the_tables_has_a_command():
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert len(lines) == len(ROWS) > 25
    assert all(seen for _, _, seen in ROWS)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_command_names_exists(command):
    given, (program, *words) = split(command)
    if program.endswith(".sh"):
        assert os.access(ROOT / program, os.X_OK)
        assert set(given) - variables(program) == set()
        assert not words
    elif program == "python" and words[0] == "-c":
        ast.parse(words[1])
    elif program == "python" and words[0] == "-m":
        assert find_spec(words[1])
        assert all((ROOT / word).exists() for word in words if word.startswith("tests/"))
    elif program == "python":
        name, *arguments = words
        assert (ROOT / name).is_file()
        stem = name.removeprefix("scripts/").removesuffix(".py")
        verb = verbs.WORDS.get(stem, stem.replace("_", "-"))
        if verb == "train":
            dialogue.parse(arguments)
        else:
            importlib.import_module(verbs.find_verb(verb).module).parser().parse_args(arguments)
    else:
        assert program in ("ls", "grep")


def test_variables_and_scripts_that_are_promised_exist():
    told = {name for promise, _, _ in ROWS for name in re.findall(r"`([^`]+)`", promise)}
    scripts = {f"scripts/{name}" for name in told if name.endswith(".sh")}
    assert len(scripts) == 3
    read = set().union(*map(variables, scripts))
    assert {name for name in told if name.isupper()} - read == set()


def shown(command, folder, **more):
    """What a command of the page prints, in a folder instead of its own."""
    setting = dict(re.findall(r"(\w+)=(\S+)", re.search(r"^export (.+)$", PAGE, re.MULTILINE)[1]))
    environment = {**os.environ, **setting, **more, "PYTHONPATH": str(ROOT)}
    environment["DATA_DIR"] = environment["DATA_DIR"].replace("/tmp/porting", str(folder))
    for name in (*SHELLS, "tests"):
        command = re.sub(rf"(?<![\w/]){name}/", f"{ROOT / name}/", command)
    command = command.replace("/tmp/porting", str(folder))
    done = run_shell(["bash", "-c", command], folder=folder / "bin", cwd=folder, env=environment)
    return done.stdout + done.stderr


@pytest.mark.parametrize(("command", "seen"), [row[1:] for row in ROWS if "PYTHON=echo" in row[1]])
def test_scripts_start_what_the_page_says(command, seen, tmp_path):
    tables = tmp_path / "kuhn_text_game_selfplay"
    tables.mkdir()
    (tables / "train.parquet").touch()
    told = shown(command, tmp_path)
    assert [words for words in seen if words not in told] == [], told


@pytest.mark.full
@pytest.mark.timeout(900)  # some twenty commands, many of which train
def test_the_commands_show_what_the_page_says(tmp_path):
    model = str(model_folder(tmp_path / "model"))  # in place of one that has to be taught
    for command, seen in (row[1:] for row in ROWS):
        if not command.startswith(BY_PYTEST):
            told = shown(command, tmp_path, MODEL_NAME=model, INITIAL_MODEL=model)
            assert [words for words in seen if words not in told] == [], f"{command}\n{told}"
