"""Runs ES modules of the project in node; what needs it skips where there is none."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.processes import LIMIT_S, Process, finish

NODE = shutil.which("node")
_ELSEWHERE = re.compile(r'from "[./\w]+/(\w+\.js)"')  # an import from another folder
_CASE = re.compile(r'^  "(.+?)": (?:async )?\(\) =>', re.MULTILINE)
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


def gather(folder, *files):
    """Put modules beside each other into a folder where node takes them for ES modules; the path of the last."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"type": "module"}')
    for file in files:
        (folder / file.name).write_text(_ELSEWHERE.sub(r'from "./\1"', file.read_text()))
    return folder / files[-1].name


def run_node(script, *words, **options):
    """Run a module to its end; what it printed."""
    return finish([NODE, script, *words], check=True, **options).stdout


def case_names(cases):
    """Names of the checks in a module that ends with ``report`` of cases.js."""
    return _CASE.findall(cases.read_text("utf-8"))


def run_cases(folder, *modules, words=()):
    """Run the checks of the last module; the error of each by its name, empty if it passed."""
    return json.loads(run_node(gather(folder, Path(__file__).with_name("cases.js"), *modules), *words))


def start_node(script, *words, limit_s=LIMIT_S):
    """A module that is fed through its standard input."""
    return Process([NODE, script, *words], limit_s=limit_s, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
