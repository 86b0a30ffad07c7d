"""The packages that are libraries of their own: every public name is there, whatever was imported before."""

import sys
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import pytest

from tests.scripts.commands import ROOT
from tests.support.processes import finish

PACKAGES = ("selfplay", "selfplay.games", "selfplay.learner", "selfplay.league", "selfplay.supervision")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there_and_no_module(package):
    found = import_module(package)
    for module in iter_modules(found.__path__):
        if module.name != "__main__" and package != "selfplay":
            import_module(f"{package}.{module.name}")
    names = found.__all__
    assert sorted(set(names)) == sorted(names)
    assert [name for name in names if isinstance(getattr(found, name), ModuleType)] == []
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        _ = found.nothing_of_this_name


def test_a_name_loads_what_it_needs_alone():
    code = "import sys, selfplay.league, selfplay.learner; print('torch' in sys.modules)"
    done = finish([sys.executable, "-c", code], cwd=ROOT)
    assert (done.stdout.strip(), done.stderr) == ("False", "")
