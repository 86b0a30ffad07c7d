"""Upload of a policy to the Hugging Face Hub, with a model card."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint import RunDir, resolve_policy, shipped_policies
from selfplay.checkpoint.generations import POLICY_FILE
from selfplay.checkpoint.hub import check_installed, hub_api, hub_errors
from selfplay.checkpoint.run_dir import RUN_FILE, named_run
from selfplay.checkpoint.store import MANIFEST, open_folder
from selfplay.commands.model_card import FILM, Card, Facts
from selfplay.errors import ConfigError
from selfplay.games.kind import GameKind
from selfplay.games.registry import find_kind
from selfplay.run.films import film, why
from selfplay.run.monitoring.secrets import without_secrets

if TYPE_CHECKING:
    from huggingface_hub import HfApi

MODEL_FILE: Final = "selfplay.json"  # of a language model
FILM_S: Final = 600.0


def push(what: str | None, repo: str, *, private: bool = False, notice: Callable[[str], object] = print) -> str:
    """Upload the files of a policy and a model card; the address. Blocks.

    Args:
        what: A policy or a run: its folder, its name in ``checkpoints``, or a shipped policy. None: the newest run.
        repo: ``OWNER/NAME``, or a name of the user's own; made if it does not exist.
        private: Whether a new repository is.
        notice: Called with lines for the user.

    Raises:
        ConfigError: no such policy, no login, the Hub refuses or cannot be reached, or a secret is in a document.
        CheckpointError: the policy is damaged.
    """
    check_installed("selfplay push")
    folder = find_policy(what)
    name = MODEL_FILE if (folder / MODEL_FILE).is_file() else POLICY_FILE
    stored = open_folder(folder)
    stored.verify()
    for document in (file for file in stored.manifest.files if file in (MODEL_FILE, POLICY_FILE)):
        text = stored.read(document).decode()
        if without_secrets(text) != text:
            raise ConfigError(f"{folder / document} has a secret of this environment, or a login; it is not uploaded")
    facts, api = stored.document(name, Facts), hub_api()
    repo = full_name(api, repo)
    run = RunDir(folder.parents[1]) if folder.parent.name == "generations" else None
    from huggingface_hub import CommitOperationAdd

    with tempfile.TemporaryDirectory(prefix="selfplay-") as place:
        picture = Path(place) / FILM
        filmed = _filmed(facts.game, folder if run is None else run.path, picture, notice)
        files: dict[str, Path | bytes] = {file: folder / file for file in (*stored.manifest.files, MANIFEST)}
        files |= {FILM: picture} if filmed else {}
        files["README.md"] = Card(repo, facts, run, filmed).text().encode()
        operations = [CommitOperationAdd(path_in_repo=file, path_or_fileobj=data) for file, data in files.items()]
        with hub_errors(repo):
            url = api.create_repo(repo, private=private, exist_ok=True)
            api.create_commit(repo, operations, commit_message=f"{facts.id} of {facts.game}")
    return str(url)


def find_policy(what: str | None) -> Path:
    """The folder of a policy or language model; errors as of ``named_run`` and ``resolve_policy``."""
    folder = shipped_policies().get(what or "") or named_run(what, (RUN_FILE, POLICY_FILE, MODEL_FILE))
    return folder if (folder / MODEL_FILE).is_file() else resolve_policy(folder)


def full_name(api: HfApi, repo: str) -> str:
    """``OWNER/NAME``: the user owns a bare name. ConfigError without a login."""
    from huggingface_hub import errors

    with hub_errors(repo):
        try:
            user = api.whoami()["name"]
        except errors.LocalTokenNotFoundError as error:
            raise ConfigError("selfplay push needs a login: hf auth login, or HF_TOKEN") from error
    return repo if "/" in repo else f"{user}/{repo}"


def _filmed(game: str, what: Path, path: Path, notice: Callable[[str], object]) -> bool:
    """Film a fight; False, with a notice, where that fails, or the game is not filmed."""
    kind = find_kind(game)
    if not isinstance(kind, GameKind) or "watch" not in kind.verbs:
        return False
    notice("Filming a fight ...")
    try:
        film(what, path, FILM_S)
    except (OSError, subprocess.SubprocessError) as error:
        notice(f"No film: {why(error)}")
        return False
    return True
