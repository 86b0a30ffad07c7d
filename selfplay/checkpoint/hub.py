"""Policies of the Hugging Face Hub, ``hf://OWNER/NAME[@REVISION]``: found, downloaded and checked. The extra ``hub``.

Only the files of a policy are downloaded, by name and below a limit of size, and nothing of them is executed. The Hub's
own cache has them; a folder of hard links to it, one for each commit, is what the rest of the program reads.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint.documents import MAX_JSON_BYTES
from selfplay.checkpoint.store import MANIFEST, MAX_FILE_BYTES, MAX_FILES, MAX_MANIFEST_BYTES
from selfplay.distribution import install_command
from selfplay.errors import ConfigError, boundary

if TYPE_CHECKING:
    from huggingface_hub import HfApi

SCHEME: Final = "hf://"
POLICY: Final[Mapping[str, int]] = {
    "policy.json": MAX_JSON_BYTES, "params.safetensors": MAX_FILE_BYTES, MANIFEST: MAX_MANIFEST_BYTES
}  # fmt: skip
"""The files of a policy, each with the most bytes that it may have."""
MODEL: Final[Mapping[str, int]] = {
    "selfplay.json": MAX_JSON_BYTES, "*.safetensors": 2**40, "*.json": 2**28, "*.jinja": 2**20, "*.model": 2**28,
    "*.txt": 2**28,
}  # fmt: skip
"""The same of a language model, by patterns of which the first counts."""
_NAME: Final = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?", re.ASCII)


def is_hub(name: str | Path) -> bool:
    """Return True if a name is of the Hub; ``Path`` makes one slash of two."""
    return str(name).startswith("hf:/")


def local(name: str | Path) -> Path:
    """A path as it is, and of a name of the Hub the folder with its files. Blocks.

    ConfigError for a name that cannot be, or that is no policy, and where it cannot be downloaded.
    """
    return _downloaded(str(name).partition(":")[2].lstrip("/")) if is_hub(name) else Path(name)


@cache
def _downloaded(name: str) -> Path:
    """The folder with the files of a policy, downloaded if necessary; once, so that a command has one commit of it."""
    shown, found = f"{SCHEME}{name}", _NAME.fullmatch(name)
    if found is None:
        raise ConfigError(f"{shown}: a name of the Hub is {SCHEME}OWNER/NAME or {SCHEME}OWNER/NAME@REVISION")
    check_installed(shown)
    with hub_errors(shown):
        snapshot = _snapshot(found["repo"], found["revision"], shown)
    place = _cache() / snapshot.name / found["repo"].replace("/", "--")
    if not place.is_dir():
        files = wanted({path.name: path.stat().st_size for path in snapshot.iterdir() if path.is_file()}, shown)
        with boundary(ConfigError, f"{shown}: cannot write {place}"):
            _link(snapshot, files, place)
    return place


def check_installed(what: str) -> None:
    if find_spec("huggingface_hub") is None:
        raise ConfigError(f"{what} needs huggingface_hub, which is not installed: {install_command('hub')}")


@contextmanager
def hub_errors(what: str) -> Iterator[None]:
    """Make a ConfigError of what the Hub answers, and of a Hub that cannot be reached."""
    from huggingface_hub import errors

    causes = {
        errors.GatedRepoError: "gated: accept its terms on its page, then log in with hf auth login",
        errors.RevisionNotFoundError: "no such revision",
        errors.RepositoryNotFoundError: "no such repository, or a private one: log in with hf auth login",
        errors.HFValidationError: "no valid name",
        errors.LocalEntryNotFoundError: "the Hub cannot be reached, and it was not downloaded before",
    }  # subclasses first
    try:
        yield
    except Exception as error:
        if isinstance(error, ConfigError):
            raise
        found = (why for kind, why in causes.items() if isinstance(error, kind))
        line = " ".join(str(error).split())[:300] or type(error).__name__
        raise ConfigError(f"{what}: {next(found, line)}") from error


def wanted(sizes: Mapping[str, int | None], shown: str) -> list[str]:
    """Those files of a repository that are of a policy; ConfigError if it has none, or one is too large."""
    limits = POLICY if "policy.json" in sizes else MODEL if "selfplay.json" in sizes else {}
    found = {}
    for name, size in sizes.items():
        limit = next((most for pattern, most in limits.items() if "/" not in name and fnmatch(name, pattern)), None)
        if limit is not None:
            found[name] = (size, limit)
    if MANIFEST not in found or len(found) > MAX_FILES:
        raise ConfigError(f"{shown} is no policy of selfplay: it has no policy.json or selfplay.json with {MANIFEST}")
    for name, (size, limit) in found.items():
        if size is None or size > limit:
            raise ConfigError(f"{shown}: {name} has {size} bytes, the limit is {limit}")
    return sorted(found)


def hub_api() -> HfApi:
    from huggingface_hub import HfApi

    return HfApi(library_name="selfplay")


def _snapshot(repo: str, revision: str | None, shown: str) -> Path:
    """The folder of links in the Hub's cache, brought up to date where the Hub can be reached."""
    import httpx
    from huggingface_hub import errors, snapshot_download
    from huggingface_hub.utils.tqdm import disable_progress_bars

    try:
        info = hub_api().model_info(repo, revision=revision, files_metadata=True)
    except (httpx.TransportError, errors.OfflineModeIsEnabled):
        patterns = [*POLICY, *MODEL]
        return Path(snapshot_download(repo, revision=revision, allow_patterns=patterns, local_files_only=True))
    files = wanted({file.rfilename: file.size for file in info.siblings or ()}, shown)
    if POLICY.keys() <= {*files}:
        disable_progress_bars()  # of small files
    found = Path(snapshot_download(repo, revision=revision, allow_patterns=files))
    if found.name != info.sha:
        raise ConfigError(f"{shown} has changed while it was downloaded; try again")
    return found


def _link(snapshot: Path, files: list[str], place: Path) -> None:
    """Make a folder of plain files, visible when it is complete."""
    temporary = place.with_name(f".{place.name}.{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        for name in files:
            source, target = (snapshot / name).resolve(), temporary / name
            try:
                os.link(source, target)
            except OSError:  # another file system
                shutil.copyfile(source, target)
        try:
            temporary.rename(place)
        except OSError:
            if not place.is_dir():  # else another process was faster
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _cache() -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_HOME) / "selfplay"
