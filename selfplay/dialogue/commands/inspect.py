"""Shows one dialogue game: its turns, then every token of each seat with its masks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.dialogue.files.games import GameLine, read_games
from selfplay.dialogue.files.generation import play
from selfplay.dialogue.files.settings import FileSettings, read_settings
from selfplay.dialogue.instances import columns_of
from selfplay.dialogue.language.loading import open_tokenizer
from selfplay.dialogue.players import open_model
from selfplay.errors import ConfigError
from selfplay.machine import usable_cores

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from selfplay.dialogue.instances import Instance

HEAD: Final = f"{'place':>6} {'id':>7}  {'token':<24} attention position label reward  log-prob"


def inspect_file(path: Path, game_id: str | None, notice: Callable[[str], object]) -> None:
    """Show a game of a file, by default the first.

    Raises:
        ConfigError: no such game, or the tokenizer of its model is not available.
        CorruptError: the file, or the settings beside it, cannot be read.
    """
    games, _ = read_games(path)
    found = [game for game in games if game_id in (None, game.game_id)]
    if not found:
        raise ConfigError(f"--game-id {game_id}: {path} has no such game; its first is {games[0].game_id}")
    for line in described(found[0], _tokenizer(read_settings(path.parent), notice)):
        notice(line)


def inspect_played(settings: FileSettings, notice: Callable[[str], object]) -> None:
    """Play one game of a model with itself, and show it; errors as of ``open_model`` and ``play``. Blocks."""
    model, _ = open_model(settings.config, "cpu", usable_cores(), notice)
    (game,) = play(settings, [1], model, lambda line: None)
    for line in described(game, model.chat.tokenizer):
        notice(line)


def _tokenizer(settings: FileSettings, notice: Callable[[str], object]) -> Any:  # noqa: ANN401
    """The tokenizer of the model that played; only the embedded model has to be loaded for it."""
    if settings.config.embedded:
        return open_model(settings.config, "cpu", usable_cores(), notice)[0].chat.tokenizer
    return open_tokenizer(settings.model)


def described(game: GameLine, tokenizer: PreTrainedTokenizerFast) -> Iterator[str]:
    rewards = ", ".join(f"{reward:.3f}" for reward in game.outcome.rewards)
    yield f"game {game.game_id} of {game.game}, state {game.index}: ended by {game.outcome.reason!r}, rewards {rewards}"
    for turn in game.turns:
        yield f"  seat {turn.seat}: {turn.text!r}" + (f", refused: {turn.error}" if turn.error else "")
    if game.outcome.unfinished is not None:
        yield f"  cut off: {game.outcome.unfinished!r}"
    for instance in game.instances():
        yield ""
        yield f"seat {instance.seat}: {len(instance.ids)} tokens, {instance.written} train"
        yield HEAD
        yield from _tokens(instance, tokenizer)


def _tokens(instance: Instance, tokenizer: PreTrainedTokenizerFast) -> Iterator[str]:
    columns = columns_of(instance)
    rows = zip(*(getattr(columns, name).tolist() for name in columns.__slots__), strict=True)
    for place, (token, attention, position, label, reward, logprob) in enumerate(rows):
        shown = f"{logprob:9.4f}" if label else ""
        text = repr(str(tokenizer.decode([token], skip_special_tokens=False)))
        yield f"{place:6} {token:7}  {text:<24} {attention:9} {position:8} {label:5} {reward:6} {shown}".rstrip()
