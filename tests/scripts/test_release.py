"""The files of a release agree, one command changes them all, and a wrong content is found before it is published."""

import io
import shutil
import sys
import tarfile
import zipfile

import pytest

from scripts.release import __main__ as release
from scripts.release.facts import CHANGELOG, CITATION, ISSUES, PROJECT, contradictions, facts
from scripts.wheels.__main__ import SOURCES
from scripts.wheels.contents import PACKAGES, missing_files, of_wheel, out_of_place
from scripts.wheels.distributions import build_for_any, copy, keep_packages
from scripts.wheels.readme import for_index
from tests.scripts.commands import ROOT, mistake
from tests.scripts.test_pages import LINK
from tests.support.processes import finish

FILES = (PROJECT, CITATION, CHANGELOG, ISSUES)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A repository with the files of a release, and one commit."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".gitignore").write_text(".venv\ndist\n")
    for variable in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(variable, raising=False)
    for part in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{part}_NAME", "a tester")
        monkeypatch.setenv(f"GIT_{part}_EMAIL", "tester@example.org")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder, *words):
    return finish(["git", *words], cwd=folder, check=True).stdout.strip()


def commit(folder):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "a change")


def call(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["release", *words])
    return release.main()


def refused(capsys, monkeypatch, *words):
    return mistake(capsys, "python -m scripts.release", lambda: call(monkeypatch, *words))


def test_the_files_of_this_tree_agree():
    assert contradictions(ROOT) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        (PROJECT, "OWNER/selfplay-arena/issues", "OTHER/selfplay-arena/issues", "project.urls.Issues"),
        (PROJECT, 'version = "0', 'version = "9', "the first heading is not '## [9"),
        (CITATION, "version: 0", "version: 9", "CITATION.cff: version is 9"),
        (CITATION, "date-released: 2", "date-released: 1", "CITATION.cff: date-released is 1"),
        (CITATION, "OWNER", "OTHER", "CITATION.cff: repository-code"),
        (CHANGELOG, "github.com/OWNER", "github.com/OTHER", "CHANGELOG.md: https://github.com/OTHER"),
        (CHANGELOG, "\n## [", "\n## [Unreleased]\n\n## [", "the first heading is not"),
        (ISSUES, "OWNER", "OTHER", "config.yml: https://github.com/OTHER"),
    ],
)
def test_a_contradiction_is_named(clone, capsys, monkeypatch, file, old, new, words):
    text = (clone / file).read_text()
    assert old in text
    (clone / file).write_text(text.replace(old, new, 1))
    commit(clone)
    assert words in refused(capsys, monkeypatch)


def test_one_command_writes_the_version_and_the_date_everywhere(clone, monkeypatch):
    text = (clone / CHANGELOG).read_text()
    (clone / CHANGELOG).write_text(text.replace("\n## [", "\n## [Unreleased]\n\n- A change.\n\n## [", 1))
    assert call(monkeypatch, "--prepare", "9.8.7") == 0
    assert contradictions(clone) == []
    assert facts(clone).version == "9.8.7"
    assert "\n\n[9.8.7]: " not in (clone / CHANGELOG).read_text(), "links stand together"
    assert text.partition("\n## [")[2].rstrip() in (clone / CHANGELOG).read_text(), "earlier entries stay"
    again = {name: (clone / name).read_bytes() for name in FILES}
    assert call(monkeypatch, "--prepare", "9.8.7") == 0
    assert {name: (clone / name).read_bytes() for name in FILES} == again


def test_one_command_writes_the_address_everywhere(clone, monkeypatch):
    assert call(monkeypatch, "--repository", "https://example.org/some/selfplay.git") == 0
    assert contradictions(clone) == []
    assert facts(clone).repository == "https://example.org/some/selfplay"
    assert not [name for name in FILES if "github.com/OWNER" in (clone / name).read_text()]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--prepare", "1.0"), "--prepare 1.0: a version such as"),
        (("--prepare", "1.0.0-next"), "a version such as"),
        (("--repository", "selfplay"), "an address such as"),
        (("--repository", "https://example.org/a b"), "an address such as"),
    ],
)
def test_a_wrong_value_changes_nothing(clone, capsys, monkeypatch, words, message):
    assert message in refused(capsys, monkeypatch, *words)
    assert git(clone, "status", "--porcelain") == ""


def test_only_a_clean_commit_that_passed_is_tagged(clone, capsys, monkeypatch):
    (clone / "notes").touch()
    assert "the tree has changes: ?? notes" in refused(capsys, monkeypatch, "--tag")
    (clone / "notes").unlink()
    assert "no address yet" in refused(capsys, monkeypatch, "--tag")
    assert call(monkeypatch, "--repository", "https://example.org/some/selfplay") == 0
    assert "written" in capsys.readouterr().out
    commit(clone)
    assert "no run of .ci/run has passed" in refused(capsys, monkeypatch, "--tag")
    (clone / ".venv").mkdir()
    (clone / ".venv" / ".passed").write_text(git(clone, "rev-parse", "HEAD~"))
    assert "no run of .ci/run has passed" in refused(capsys, monkeypatch, "--tag")
    (clone / ".venv" / ".passed").write_text(git(clone, "rev-parse", "HEAD") + "\n")
    monkeypatch.setattr(release, "find_spec", lambda _: None)
    assert "needs twine" in refused(capsys, monkeypatch, "--tag")
    monkeypatch.setattr(release, "find_spec", lambda _: True)
    monkeypatch.setattr(release, "_build", lambda _: 1)
    assert call(monkeypatch, "--tag") == 1
    assert git(clone, "tag") == ""
    monkeypatch.setattr(release, "_build", lambda _: 0)
    assert call(monkeypatch, "--tag") == 0
    assert f"git push origin {facts(clone).tag} publishes" in capsys.readouterr().out
    assert git(clone, "tag", "--points-at", "HEAD") == facts(clone).tag
    assert "exists" in refused(capsys, monkeypatch, "--tag")


def test_a_commit_with_another_tag_is_refused(clone, capsys, monkeypatch):
    git(clone, "tag", "v9.9.9")
    assert "the commit has the tag v9.9.9" in refused(capsys, monkeypatch)


def test_the_page_of_the_index_has_absolute_links():
    known = facts(ROOT)
    text = for_index((ROOT / "README.md").read_text(), known.repository, known.tag)
    targets = [match[1] or match[2] for match in LINK.finditer(text)]
    assert f"{known.repository}/raw/{known.tag}/docs/melee/fight.gif" in targets
    assert f"{known.repository}/blob/{known.tag}/docs/README.md" in targets
    assert not [target for target in targets if not target.startswith("https://")]
    assert "git clone URL" not in text
    assert for_index("[a](#b) [c](d.md#e)", "R", "v1") == "[a](#b) [c](R/blob/v1/d.md#e)"


def wheel_of(folder, *names):
    path = folder / "selfplay_arena-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return path


def sdist_of(folder, *names):
    path = folder / "selfplay_arena-1.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(f"selfplay_arena-1/{name}"), io.BytesIO())
    return path


def test_what_is_not_of_the_packages_is_named(tmp_path):
    inside = [f"{name}/__init__.py" for name in PACKAGES]
    assert out_of_place(wheel_of(tmp_path, *inside, "selfplay_arena-1.dist-info/METADATA")) == []
    assert out_of_place(sdist_of(tmp_path, inside[0], *(f"envs/{name}" for name in inside[1:]), "PKG-INFO")) == []
    for name in ("tests/test_api.py", "docs/data/first_hour.json", "checkpoints/run/run.json", "selfplay/weights.pt"):
        (found,) = out_of_place(wheel_of(tmp_path, *inside, name))
        assert found == f"selfplay_arena-1-py3-none-any.whl: {name} does not belong there"
        assert f"selfplay_arena-1.tar.gz: {name} does not belong there" in out_of_place(sdist_of(tmp_path, name))
    (tmp_path / "envs" / "selfplay_melee" / "view").mkdir(parents=True)
    (tmp_path / "envs" / "selfplay_melee" / "view" / "index.html").touch()
    assert missing_files(wheel_of(tmp_path, *inside), tmp_path) == ["selfplay_melee/view/index.html"]
    assert out_of_place(wheel_of(tmp_path, *inside[:-1])) == [
        "selfplay_arena-1-py3-none-any.whl: selfplay_melee is not there"
    ]


@pytest.mark.full
def test_the_packages_alone_are_built_and_the_sources_make_the_same_wheel(tmp_path):
    tree, out, known = tmp_path / "tree", tmp_path / "out", facts(ROOT)
    out.mkdir()
    for name in SOURCES:
        copy(ROOT / name, tree / name)
    keep_packages(tree, known)
    build_for_any(tree, out, tmp_path / "again", known.version)
    wheel, sources = sorted(out.iterdir())
    assert (wheel.suffix, sources.suffix) == (".whl", ".gz")
    folders = {name.partition("/")[0] for name in of_wheel(wheel)}
    assert folders == {*PACKAGES, f"selfplay_arena-{known.version}.dist-info"}
    assert "selfplay_melee/policies/strong/params.safetensors" in of_wheel(wheel)


@pytest.mark.full
def test_the_version_costs_no_import():
    code = "import sys, selfplay; print(selfplay.__version__, 'torch' in sys.modules, 'numpy' in sys.modules)"
    done = finish([sys.executable, "-c", code], cwd=ROOT)
    assert done.stdout.split() == [facts(ROOT).version, "False", "False"]
