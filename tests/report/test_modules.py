"""ES modules as parts of the one script of a page."""

import re
from importlib import resources

import pytest

from selfplay.policy.browser.weights import SCRIPTS as POLICY
from selfplay.report.standalone_page import read_modules
from selfplay_melee.browser.scene import SCRIPTS as SCENE
from selfplay_melee.show.page import player
from tests.support.node import needs_node, run_node

MODULES = (("selfplay.policy.browser", POLICY), ("selfplay_melee.browser", SCENE))


@pytest.mark.parametrize(("package", "names"), MODULES)
def test_every_module_of_a_folder_is_named(package, names):
    # rules.js is loaded with the rules
    assert set(names) == {file.name for file in resources.files(package).iterdir() if file.name.endswith(".js")} - {
        "rules.js"
    }


@needs_node
def test_all_modules_fit_into_one_script_with_the_player(tmp_path):
    bundled = "".join(read_modules(resources.files(package), *names) for package, names in MODULES)
    assert not re.search(r"^(import|export)\b", bundled, re.MULTILINE)
    script = tmp_path / "page.mjs"
    script.write_text(player("h1").script + bundled + "console.log(new Heads({ binary: 2, sizes: [3] }).width);\n")
    assert run_node(script) == "3\n"


def test_a_module_comes_after_those_that_it_imports():
    folder = resources.files("selfplay.policy.browser")
    with pytest.raises(ValueError, match=r"policy.js does not come after network.js, uniforms.js, which it imports"):
        read_modules(folder, "heads.js", "policy.js")


@needs_node
def test_names_of_modules_do_not_meet(tmp_path):
    (tmp_path / "a.js").write_text("const secret = 1;\nexport const a = () => secret;\n")
    (tmp_path / "b.js").write_text(
        'import { a } from "./a.js";\nconst secret = 2;\nexport async function b() {\n  return a() + secret;\n}\n'
    )
    script = tmp_path / "page.mjs"
    script.write_text(read_modules(tmp_path, "a.js", "b.js") + "console.log(await b(), typeof secret);\n")
    assert run_node(script) == "3 undefined\n"
