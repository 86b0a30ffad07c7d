"""What a conversation looks like to a model: ids before its first reply, and ids after each.

A conversation only ever grows: what was read or written stays as it is, so that ids which the model has sampled are
never made from text again. A template must agree with that; ``Chat`` checks it before anything is played.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, final

from selfplay.errors import ConfigError, IncompatibleError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

Ids = list[int]
Message = dict[str, str]
_MINE, _YOURS, _RULES = "\u2042mine\u2042", "\u2042yours\u2042", "\u2042rules\u2042"  # stand for texts
PROBES: Final = ("Hello there.", "<think>A thought.</think>[message] Good day.", "Another.", "And so on.")


@final
class Chat:
    """A tokenizer with its chat template, which is asked once for each form and then known by heart."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, ends: frozenset[int]) -> None:
        """``ends`` are the tokens that end a reply.

        Raises:
            ConfigError: no template, or one that changes what stands before its last message.
        """
        self.tokenizer = tokenizer
        self.ends = ends
        self.size = len(tokenizer)  # ids from 0
        self.marks = _marks(tokenizer)
        name = tokenizer.name_or_path
        if not tokenizer.chat_template:
            raise ConfigError(f"{name}: its tokenizer has no chat template, and so no form for a conversation")
        mine: Message = {"role": "assistant", "content": _MINE}
        self._opening = {
            told: self._around(self._first(told), (_RULES, _YOURS) if told else (_YOURS,)) for told in (False, True)
        }
        later = self._render([*self._first(told=False), mine, {"role": "user", "content": _YOURS}], more=True)
        between = later.split(_MINE)[-1].split(_YOURS)
        if len(between) != 2:
            raise ConfigError(f"{name}: its chat template does not show every message once")
        self._before, self._after = between
        self.end = (self._encode([self._before])[0] or [-1])[0]
        if self.end not in ends:
            raise ConfigError(f"{name}: its chat template does not end a reply with an end-of-turn token of the model")
        self._check()

    def open(self, system: str, observation: str) -> Ids:
        """Ids of a new conversation up to where the first reply begins."""
        parts = self._opening[bool(system)]
        texts = (system, observation) if system else (observation,)
        text = parts[0] + "".join(said + part for said, part in zip(texts, parts[1:], strict=True))
        return self._encode([text])[0]

    def go_on(self, observations: Sequence[str]) -> list[Ids]:
        """Ids between the end-of-turn token of a reply and where the next reply begins, for each observation."""
        return [ids[1:] for ids in self._encode([f"{self._before}{said}{self._after}" for said in observations])]

    def ids_of(self, replies: Sequence[str]) -> list[Ids]:
        """Replies of others, as this model would have written them: the token that ends them included."""
        return [[*ids, self.end] for ids in self._encode(replies)]

    def text_of(self, replies: Sequence[Ids]) -> list[str]:
        """Replies as text, without the token that ends them."""
        cut = [ids[:-1] if ids and ids[-1] in self.ends else ids for ids in replies]
        return list(self.tokenizer.backend_tokenizer.decode_batch(cut, skip_special_tokens=False))

    def _first(self, told: bool) -> list[Message]:
        yours: Message = {"role": "user", "content": _YOURS}
        return [{"role": "system", "content": _RULES}, yours] if told else [yours]

    def _around(self, messages: list[Message], marks: Sequence[str]) -> tuple[str, ...]:
        """The template's text before, between and after the texts of the messages."""
        rest, parts = self._render(messages, more=True), []
        for mark in marks:
            part, found, rest = rest.partition(mark)
            if not found:
                raise ConfigError(f"{self.tokenizer.name_or_path}: its chat template does not show every message once")
            parts.append(part)
        return (*parts, rest)

    def _render(self, messages: list[Message], more: bool) -> str:
        try:
            return str(self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=more))
        except Exception as error:  # a template is a program of somebody else
            reason = " ".join(str(error).split())
            raise ConfigError(f"{self.tokenizer.name_or_path}: its chat template refuses: {reason}") from error

    def _encode(self, texts: Sequence[str]) -> list[Ids]:
        if not texts:
            return []
        fast = self.tokenizer.backend_tokenizer  # asked directly: what stands around it costs more than the work
        return [encoding.ids for encoding in fast.encode_batch(list(texts), add_special_tokens=False)]

    def _check(self) -> None:
        """That a whole conversation reads as its pieces do."""
        first, reply, second, other = PROBES
        said: list[Message] = [
            {"role": role, "content": text}
            for role, text in (("user", first), ("assistant", reply), ("user", second), ("assistant", other))
        ]
        whole = self._render([*said, {"role": "user", "content": first}], more=True)
        parts = self._opening[False]
        pieces = "".join(
            (parts[0], first, parts[1], reply, self._before, second, self._after, other, self._before, first)
        )
        if whole != pieces + self._after:
            raise IncompatibleError(
                f"{self.tokenizer.name_or_path}: its chat template changes earlier messages when later ones come (as "
                "templates do that drop thoughts), so that what was sampled is not what would be learned from; "
                "--rows turn learns from each turn by itself"
            )


def _marks(tokenizer: PreTrainedTokenizerFast) -> frozenset[int]:
    """Tokens that stand for no text: a template's, and the one for whatever has no token."""
    added = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    return frozenset(added | set(tokenizer.all_special_ids))
