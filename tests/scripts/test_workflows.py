"""What the workflows, hooks and forms of the host call exists here; the host itself is not asked."""

import os
import re
import shlex
import shutil
import tomllib

import pytest

from tests.scripts.commands import ROOT
from tests.support.processes import finish

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: pip install -e '.[dev]'")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXPRESSION = re.compile(r"\$\{\{\s*([\w.]+)\s*\}\}")
ACTION = re.compile(r"[\w-]+/[\w-]+@(?:v\d+|release/v\d+|[0-9a-f]{40})")


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs(path):
    return read(path)["jobs"].values()


def steps(path):
    return [step for job in jobs(path) for step in job["steps"]]


def test_there_are_workflows():
    assert [path.stem for path in WORKFLOWS] == ["ci", "docs", "nightly", "wheels"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_complete(path):
    lines = path.read_text().split("\n\n")[0].splitlines()
    assert all(line.startswith(("#", "name:")) for line in lines), "the first lines say what ran where"
    assert any(line.startswith("# Not run yet:") for line in lines)
    found = read(path)
    assert found[True], "YAML reads the key 'on' as true"
    assert found["permissions"]["contents"] == "read"
    for job in jobs(path):
        assert job["runs-on"]
        assert job.get("needs") in (None, *found["jobs"])
    for step in steps(path):
        assert ("uses" in step) != ("run" in step)
        assert ACTION.fullmatch(step.get("uses", "a/b@v1"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_what_a_step_reads_of_the_matrix_is_there(path):
    for job in jobs(path):
        matrix = job.get("strategy", {}).get("matrix", {})
        known = {*matrix, *(name for row in matrix.get("include", ()) for name in row)}
        wanted = {name.removeprefix("matrix.") for name in EXPRESSION.findall(str(job)) if name.startswith("matrix.")}
        assert wanted <= known
        assert "include" not in wanted


def commands(path):
    return [shlex.split(EXPRESSION.sub("x", step["run"])) for step in steps(path) if "run" in step]


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_what_a_step_runs_exists(path, tmp_path):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    for program, *words in commands(path):
        if program == "make":
            done = finish(["make", "-n", *words], cwd=tmp_path, env={**os.environ, "MAKEFLAGS": ""})
            assert done.returncode == 0, done.stderr
        else:
            assert program == "bash"
            assert (ROOT / words[0]).is_file()


def test_every_python_that_the_project_names_is_tested():
    named = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)}
    matrix = read(ROOT / ".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert named <= {*matrix["python"]}
    assert PROJECT["requires-python"] == f">={min(named, key=lambda name: int(name.partition('.')[2]))}"


def test_hooks_call_programs_that_the_project_installs():
    (found,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    tools = {re.match(r"[\w-]+", line)[0] for line in PROJECT["optional-dependencies"]["dev"]}
    for hook in found["hooks"]:
        folder, program = hook["entry"].split()[0].rsplit("/", 1)
        assert (hook["language"], folder) == ("system", ".venv/bin")
        assert program in tools


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_can_be_filled_in(path):
    found = read(path)
    assert found["name"]
    assert found["description"]
    names = [part["id"] for part in found["body"]]
    assert len({*names}) == len(names)
    assert all(
        part["type"] in ("textarea", "input", "dropdown") and part["attributes"]["label"] for part in found["body"]
    )
    assert any(part.get("validations", {}).get("required") for part in found["body"])
