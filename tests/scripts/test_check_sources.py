"""What may not stand in a source: what turns data of others into running code, or listens to more than this machine.

``make check`` looks through all sources.
"""

import pytest

from scripts.studies.check_sources import ALLOWED, FOLDERS, ROOT, faults, main


def test_nothing_is_allowed_that_is_not_there():
    for name, what in ALLOWED:
        assert what in {fault.what for fault in faults((ROOT / name).read_text())}, (name, what)
    assert all((ROOT / folder).is_dir() for folder in FOLDERS)


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import pickle", "import of pickle"),
        ("import pickle as p", "import of pickle"),
        ("import torch, dill.source", "import of dill"),
        ("from pickle import loads", "import of pickle"),
        ("from joblib import load", "import of joblib"),
        ("import marshal", "import of marshal"),
        ("import importlib\nimportlib.import_module('shelve')", "import of shelve"),
        ("__import__(name)", "__import__"),
        ("torch.load(path)", "torch.load"),
        ("torch.load(path, weights_only=True)", "torch.load"),
        ("import torch as t\nt.load(path)", "torch.load"),
        ("from torch import load", "torch.load"),
        ("from torch import load as x\nx(path)", "torch.load"),
        ("import torch\ngetattr(torch, 'load')(path)", "torch.load"),
        ("import torch\nread = torch.load\nread(path)", "torch.load"),
        ("list(map(torch.load, paths))", "torch.load"),
        ("torch.jit.load(path)", "torch.jit.load"),
        ("torch.serialization.load(path)", "torch.serialization.load"),
        ("import torch\nlibrary: Any = torch\nlibrary.load(path)", "torch.load"),
        ("list(map(eval, lines))", "eval"),
        ("class A:\n    def exec(self): ...\nexec(text)", "exec"),
        ("asyncio.create_subprocess_shell(text)", "asyncio.create_subprocess_shell"),
        ("state.load(path, weights_only=False)", "weights_only: an unpickler"),
        ("np.load(path)", "numpy.load without allow_pickle=False"),
        ("import numpy\nnumpy.load(path, allow_pickle=True)", "numpy.load without allow_pickle=False"),
        ("from numpy import load\nload(path)", "numpy.load without allow_pickle=False"),
        ("np.load(path, allow_pickle=flag)", "numpy.load without allow_pickle=False"),
        ("np.savez(path, allow_pickle=True)", "allow_pickle"),
        ("pd.read_pickle(path)", "pandas.read_pickle"),
        ("yaml.load(text)", "yaml.load"),
        ("yaml.load(text, Loader=yaml.SafeLoader)", "yaml.load"),
        ("def f():\n    return eval(text)", "eval"),
        ("exec(compile(text, 'x', 'exec'))", "compile"),
        ("import builtins\nbuiltins.exec(text)", "exec"),
        ("from builtins import eval as e", "eval"),
        ("subprocess.run(words, shell=True)", "shell=True"),
        ("subprocess.run(words, shell=flag)", "shell=True"),
        ("os.system(text)", "os.system"),
        ("from os import system", "os.system"),
        ("AutoModel.from_pretrained(x, use_safetensors=True, trust_remote_code=True)", "trust_remote_code"),
        ("AutoTokenizer.from_pretrained(x, trust_remote_code=flag)", "trust_remote_code"),
        ("AutoModel.from_pretrained(x)", "from_pretrained without use_safetensors=True"),
        ("AutoModel.from_pretrained(x, use_safetensors=None)", "from_pretrained without use_safetensors=True"),
        ("tar.extractall(folder)", "extractall without filter"),
        ("tar.extractall(folder, filter='fully_trusted')", "extractall without filter"),
        ("shutil.unpack_archive(a, b)", "unpack_archive without filter"),
        ("s.bind(('', 80))", "host ''"),
        ("s.bind(('0.0.0.0', 80))", "host '0.0.0.0'"),
        ("HTTPServer(('', 0), Handler)", "host ''"),
        ("uvicorn.run(app, host='0.0.0.0')", "host '0.0.0.0'"),
        ("asyncio.start_server(f, '::', 1)", "host '::'"),
        ("asyncio.start_server(f, port=1)", "a server on all interfaces"),
        ("words = ['serve', '--host', '0.0.0.0']", "flag --host"),
        ("run(('tensorboard', '--bind_all'))", "flag --bind_all"),
    ],
)
def test_what_is_forbidden_is_found_in_its_line(source, what):
    found = faults(f"x = 1\n{source}\n")
    assert what in {fault.what for fault in found}
    assert all(fault.line >= 2 and fault.instead for fault in found)


@pytest.mark.parametrize(
    "source",
    [
        "model.eval()",
        "re.compile('x')",
        "torch.compile(f)",
        "import torch\ntorch.compile(f)",
        "def compile(x):\n    return x\ncompile(1)",
        "from selfplay.compilation.compile import compile\ncompile()",
        "np.load(path, allow_pickle=False)",
        "json.load(f)",
        "import numpy",
        "import picklejar",
        "yaml.safe_load(text)",
        "subprocess.run(['ls'], shell=False)",
        "AutoTokenizer.from_pretrained(x, trust_remote_code=False)",
        "AutoModel.from_pretrained(x, use_safetensors=True)",
        "tar.extractall(folder, filter='data')",
        "s.bind(('127.0.0.1', 0))",
        "asyncio.start_server(f, '127.0.0.1', 1)",
        "words = ('--host', '{host}')",
        "text = 'import pickle; eval(x)'",
    ],
)
def test_look_alikes_are_left_alone(source):
    assert faults(source) == []


def test_a_fault_is_told_with_file_line_and_remedy(tmp_path, capsys):
    bad = tmp_path / "bad.py"
    bad.write_text("import os\n\nos.system('ls')\n")
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"{bad}:3: os.system: use subprocess.run with a list of words\n"


def test_a_long_line_of_javascript_is_refused(tmp_path, capsys):
    bad = tmp_path / "bad.js"
    bad.write_text(f"const x = 1;\n// {'é' * 117}\n// {'é' * 118}\n")
    assert main([str(bad)]) == 1
    assert capsys.readouterr().out == f"{bad}:3: 121 letters: use at most 120\n"
