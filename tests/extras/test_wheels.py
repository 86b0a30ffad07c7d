"""The wheel with machine code, in an empty environment: no network, no compiler, an empty home."""

import sys
import tarfile
import venv
import zipfile
from functools import partial
from pathlib import Path

import pytest
import torch

from tests.scripts.documented_lines import PAGES, make_folder, type_lines
from tests.support.node import needs_node
from tests.support.processes import finish

ROOT = Path(__file__).parents[2]
WASM = "envs/selfplay_melee/shipped/selfplay_melee.browser.program-mock_program.wasm"

pytestmark = [pytest.mark.extras, needs_node, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    out = tmp_path_factory.mktemp("dist")
    limit_s = 500.0  # below that of fixtures, so that the error tells how far it came; it takes two minutes
    finish([sys.executable, "-m", "scripts.wheels", "--out", out], cwd=ROOT, check=True, limit_s=limit_s)
    return out


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def start(built, tmp_path, home):
    """Runs a program of an environment that has the wheel, and the packages that it needs from here."""
    venv.create(tmp_path / "environment", with_pip=False)
    (packages,) = (tmp_path / "environment").glob("lib/python*/site-packages")
    (packages / "needed.pth").write_text(str(Path(torch.__file__).parents[1]))
    programs = tmp_path / "environment" / "bin"
    (wheel,) = built.glob("*-cp*.whl")
    pip = [sys.executable, "-m", "pip", "--python", programs / "python", "--disable-pip-version-check"]
    finish([*pip, "install", "--no-deps", "--no-index", wheel], check=True)
    environment = {"HOME": str(home), "PATH": "", "LANG": "C.UTF-8"}

    def start(program, *words, cwd=home):
        return finish([programs / program, *map(str, words)], cwd=cwd, env=environment)

    return start


@pytest.fixture
def run(start, home):
    """What Python says, and the files that it makes."""

    def run(*words):
        done = start("python", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr, {path.name for path in home.rglob("*") if path.is_file()}

    return run


@pytest.mark.parametrize(
    ("words", "made"),
    [(("play", "novice", "--no-open"), "play.html"), (("watch", "expert", "--out", "expert.html"), "expert.html")],
)
def test_the_first_start_compiles_nothing(run, words, made):
    said, files = run("-m", "selfplay", *words)
    assert "ompil" not in said
    assert made in files
    assert not [name for name in files if name.endswith((".nbc", ".wasm"))]


@pytest.mark.parametrize("page", PAGES)
def test_the_lines_of_a_page_work_from_the_wheel(start, home, page):
    selfplay = partial(start, "selfplay")
    assert start("python", "-c", "import selfplay; print(selfplay.__file__)").stdout.startswith(str(home.parent))
    make_folder(page, home, selfplay)
    type_lines(page, home, selfplay)


@pytest.mark.parametrize("lacks", ["avx2", "neon"])
def test_on_a_weaker_processor_the_rules_are_compiled(run, lacks):
    code = f"""
import llvmlite.binding as llvm
features = llvm.get_host_cpu_features()
here = features.pop({lacks!r}, False)
llvm.get_host_cpu_features = lambda: features
from selfplay.compilation.compile import is_compiled
from selfplay_melee.episodes import step_games
print(is_compiled(step_games) is not here)
"""
    said, _ = run("-c", code)
    assert said == "True\n"


@pytest.mark.parametrize("machine", ["manylinux_2_27_aarch64", "macosx_12_0_x86_64"])
def test_other_machines_get_the_wheel_for_any(built, tmp_path, machine):
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-index", "--find-links", built]
    options = ["--only-binary", ":all:", "--platform", machine, "--dest", tmp_path]
    finish([*pip, *options, "selfplay-arena"], check=True)
    assert [path.name.split("-")[2] for path in tmp_path.iterdir()] == ["py3"]


def test_every_distribution_has_the_rules_for_browsers_and_one_wheel_machine_code(built):
    wheels = {path.name.split("-")[2]: zipfile.ZipFile(path).namelist() for path in built.glob("*.whl")}
    assert set(wheels) == {"py3", f"cp{sys.version_info.major}{sys.version_info.minor}"}
    (sources,) = built.glob("*.tar.gz")
    with tarfile.open(sources) as content:
        names = [name.partition("/")[2] for name in content.getnames()]
    assert WASM in names
    assert all(WASM.removeprefix("envs/") in files for files in wheels.values())
    assert [of for of, files in wheels.items() if any(name.endswith(".nbc") for name in files)] != ["py3"]
    assert not [name for name in (*wheels["py3"], *names) if name.endswith(".nbc")]
