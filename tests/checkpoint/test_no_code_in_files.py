"""Nothing in the project can turn the content of a file into running code."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "jsonpickle"}
CALLS = {"eval", "exec", "compile", "__import__"}
METHODS = {
    "torch.load",
    "torch.jit.load",
    "torch.hub.load",
    "torch.package",
    "yaml.load",
    "yaml.unsafe_load",
    "pd.read_pickle",
}
LOADERS = {"np.load", "numpy.load"}  # only with allow_pickle=False written out


def faults(source: str) -> list[str]:
    """What a source uses of that."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom):
            name = f"{node.module}.{node.names[0].name}"
            found += [name] if (node.module or "").split(".")[0] in MODULES or name in METHODS | LOADERS else []
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            safe = any(word.arg == "allow_pickle" and ast.unparse(word.value) == "False" for word in node.keywords)
            if name in CALLS | METHODS or (name in LOADERS and not safe):
                found.append(name)
            found += ["allow_pickle"] if any(word.arg == "allow_pickle" for word in node.keywords) and not safe else []
            found += ["weights_only"] if any(word.arg == "weights_only" for word in node.keywords) else []
    return found


@pytest.mark.parametrize("folder", ["selfplay", "envs", "scripts"])
def test_no_source_loads_code_from_files(folder):
    bad = {str(path): found for path in (ROOT / folder).rglob("*.py") if (found := faults(path.read_text()))}
    assert bad == {}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "import torch, dill.source",
        "from pickle import loads",
        "from torch import load",
        "torch.load(path)",
        "torch.load(path, weights_only=True)",
        "np.load(path)",
        "numpy.load(path, allow_pickle=True)",
        "np.lib.format.read_array(f, allow_pickle=flag)",
        "def f():\n    return eval(text)",
        "exec(compile(text, 'x', 'exec'))",
        "yaml.load(text)",
        "__import__(name)",
    ],
)
def test_the_search_finds_what_it_must(source):
    assert faults(source)


@pytest.mark.parametrize(
    "source", ["model.eval()", "np.load(path, allow_pickle=False)", "re.compile('x')", "json.load(f)", "import numpy"]
)
def test_and_leaves_the_rest_alone(source):
    assert faults(source) == []


def test_the_package_imports_no_torch(run_python):
    assert run_python("import sys, selfplay.checkpoint; print('torch' in sys.modules)") == "False\n"


@pytest.fixture
def run_python():
    import subprocess
    import sys

    def run(code: str) -> str:
        return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    return run
