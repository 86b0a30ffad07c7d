"""The wheel with machine code, in an empty environment: no network, no compiler, an empty home."""

import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.support.node import needs_node
from tests.support.processes import finish

ROOT = Path(__file__).parents[2]
WASM = "envs/melee/shipped/envs.melee.browser.program-mock_program.wasm"

pytestmark = [pytest.mark.extras, needs_node, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    out = tmp_path_factory.mktemp("dist")
    finish([sys.executable, "-m", "scripts.wheels", "--out", out], cwd=ROOT, check=True, limit_s=1400.0)
    return out


@pytest.fixture
def run(built, tmp_path):
    """Runs Python in an environment that has the wheel, and the packages that it needs from here."""
    venv.create(tmp_path / "environment", with_pip=False)
    (packages,) = (tmp_path / "environment").glob("lib/python*/site-packages")
    (wheel,) = built.glob("*-cp*.whl")
    with zipfile.ZipFile(wheel) as content:
        for name in content.namelist():
            content.extract(name, packages)
    (packages / "needed.pth").write_text(sysconfig.get_paths()["purelib"])
    home = tmp_path / "home"
    home.mkdir()
    environment = {"HOME": str(home), "PATH": "", "LANG": "C.UTF-8"}

    def run(*words):
        command = [tmp_path / "environment" / "bin" / "python", *words]
        done = finish(command, cwd=home, env=environment, check=True)
        return done.stdout + done.stderr, {path.name for path in home.rglob("*") if path.is_file()}

    return run


@pytest.mark.parametrize(
    ("words", "made"),
    [(("play", "strong", "--no-open"), "play.html"), (("watch", "fox", "--out", "fox.html"), "fox.html")],
)
def test_the_first_start_compiles_nothing(run, words, made):
    said, files = run("-m", "selfplay", *words)
    assert "ompil" not in said
    assert made in files
    assert not [name for name in files if name.endswith((".nbc", ".wasm"))]


@pytest.mark.parametrize("lacks", ["avx2", "neon"])
def test_on_a_weaker_processor_the_rules_are_compiled(run, lacks):
    code = f"""
import llvmlite.binding as llvm
features = llvm.get_host_cpu_features()
here = features.pop({lacks!r}, False)
llvm.get_host_cpu_features = lambda: features
from envs.compile import is_compiled
from envs.melee.episodes import step_games
print(is_compiled(step_games) is not here)
"""
    said, _ = run("-c", code)
    assert said == "True\n"


def test_every_distribution_has_the_rules_for_browsers_and_one_wheel_machine_code(built):
    wheels = {path.name.split("-")[2]: zipfile.ZipFile(path).namelist() for path in built.glob("*.whl")}
    assert set(wheels) == {"py3", f"cp{sys.version_info.major}{sys.version_info.minor}"}
    (sources,) = built.glob("*.tar.gz")
    with tarfile.open(sources) as content:
        names = [name.partition("/")[2] for name in content.getnames()]
    for files in (*wheels.values(), names):
        assert WASM in files
    assert [of for of, files in wheels.items() if any(name.endswith(".nbc") for name in files)] != ["py3"]
    assert not [name for name in (*wheels["py3"], *names) if name.endswith(".nbc")]
