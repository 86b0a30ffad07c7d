"""Chat templates: the token ids of a conversation before its first reply and after each.

A conversation only grows: sampled ids are never encoded again from text, also where the template trims replies. It
must allow that, which ``Chat`` checks. Other templates can be used with one row per turn, each with the conversation so
far as its prompt.

Observations are text and never tokens of the template: a partner who writes the end-of-turn token does not end a turn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, final

from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

Ids = list[int]
Message = dict[str, Any]
Rows: TypeAlias = Literal["conversation", "turn"]
_MINE, _YOURS, _RULES = "\u2042mine\u2042", "\u2042yours\u2042", "\u2042rules\u2042"  # placeholders
_NAMES: Final = ("the first prompt", "the first reply", "the second prompt", "the second reply", "the third prompt")
_SHOWN: Final = 60  # characters of a changed message
PROBES: Final = ("Hello there.", "<think>A thought.</think>[message] Good day.", "Another.", "And so on.")


@final
class Chat:
    """A tokenizer with its chat template, which is rendered once and then applied by concatenation.

    Args:
        tokenizer: with a template. Without a system role, the rules are put before the first observation.
        ends: tokens that end a reply.
        rows: whether the learner gets one row per conversation or per turn.

    Raises:
        ConfigError: no template, or one that changes earlier messages.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast, ends: frozenset[int], rows: Rows = "conversation") -> None:
        self.tokenizer = tokenizer
        self.ends = ends
        self.rows = rows
        if not tokenizer.chat_template:
            raise self._refused("its tokenizer has no chat template, and so no form for a conversation")
        if getattr(tokenizer, "backend_tokenizer", None) is None:
            raise self._refused("its tokenizer has no fast form (tokenizer.json)")
        self.size = len(tokenizer)  # ids from 0
        self.marks = _marks(tokenizer)
        spelled = sorted((t for t in tokenizer.convert_ids_to_tokens(list(self.marks)) if len(t) > 1), key=len)
        self._spelled = re.compile("|".join(re.escape(t) for t in reversed(spelled)) or "(?!)")
        self._in_parts = not self._shows(in_parts=False) and self._shows(in_parts=True)
        self._folds = not self._has_system_role()
        later = self._render(["", _YOURS, _MINE, _YOURS])
        between = later.split(_MINE)[-1].split(_YOURS)
        if len(between) != 2 or (later.count(_MINE), later.count(_YOURS)) != (1, 2):
            raise self._refused("its chat template does not show every message once")
        self._trims = self._render(["", _YOURS, _MINE, f" \n{_YOURS}\n "]) == later
        self._before, self._after = between
        self.end = (self._encode([self._before])[0] or [-1])[0]
        if self.end not in ends:
            raise self._refused("its chat template does not end a reply with an end-of-turn token of the model")
        if rows == "conversation":
            self._check()

    def open(self, system: str, observation: str) -> Ids:
        """Ids of a new conversation up to the start of the first reply. Unknown words become the unknown token."""
        return self.whole([system, observation])

    def go_on(self, observations: Sequence[str]) -> list[Ids]:
        """Ids between the end of a reply and the start of the next, for each observation."""
        texts = [self._later(said) for said in observations]
        return [ids[1:] for ids in self._encode(texts)]

    def whole(self, said: Sequence[str]) -> Ids:
        """Ids of a conversation (rules, then observations and replies in turn) up to the start of a reply."""
        return self._encode([self._render(said)])[0]

    def ids_of(self, replies: Sequence[str]) -> list[Ids]:
        """Ids of replies that are given as text, with the end-of-turn token."""
        return [[*ids, self.end] for ids in self._encode(replies)]

    def text_of(self, replies: Sequence[Ids]) -> list[str]:
        """Text of replies, without the end-of-turn token."""
        cut = [ids[:-1] if ids and ids[-1] in self.ends else ids for ids in replies]
        return list(self.tokenizer.backend_tokenizer.decode_batch(cut, skip_special_tokens=False))

    def refuse_unknown(self, ids: Sequence[int]) -> None:
        """Refuse ids with the unknown token; the ConfigError shows the text."""
        unknown = self.tokenizer.unk_token_id
        if unknown is not None and unknown in ids:
            place = list(ids).index(unknown)
            shown = self.tokenizer.decode(list(ids[max(0, place - 4) : place + 4]))
            raise self._refused(f"its tokenizer lacks words of this game: {shown!r}")

    def _as_text(self, said: str) -> str:
        """The text with a space inside every special token, so that it is encoded as letters."""
        return self._spelled.sub(lambda found: f"{found[0][0]} {found[0][1:]}", said)

    def _shows(self, in_parts: bool) -> bool:
        """Return True if the template renders a text that is given as a string, or as a list of parts."""
        self._in_parts, self._folds = in_parts, True
        try:
            return self._render(["", _YOURS]).count(_YOURS) == 1
        except ConfigError:
            return False

    def _has_system_role(self) -> bool:
        self._folds = False
        try:
            shown = self._render([_RULES, _YOURS])
        except ConfigError:
            return False
        return shown.count(_RULES) == 1

    def _later(self, observation: str) -> str:
        """The text between the end of a reply and the start of the next."""
        said = observation.strip() if self._trims else observation
        return f"{self._before}{self._as_text(said)}{self._after}"

    def messages(self, said: Sequence[str]) -> list[Message]:
        """Messages from the rules, which may be empty, then observations and replies in turn."""
        written = range(2, len(said), 2)  # replies of the model are not changed
        system, first, *others = (text if i in written else self._as_text(text) for i, text in enumerate(said))
        if system and self._folds:
            first = f"{system}\n\n{first}"
        roles = [("user", first), *(("user" if i % 2 else "assistant", text) for i, text in enumerate(others))]
        if system and not self._folds:
            roles.insert(0, ("system", system))
        return [
            {"role": role, "content": [{"type": "text", "text": text}] if self._in_parts else text}
            for role, text in roles
        ]

    def _render(self, said: Sequence[str]) -> str:
        try:
            return str(
                self.tokenizer.apply_chat_template(self.messages(said), tokenize=False, add_generation_prompt=True)
            )
        except Exception as error:  # of the template's own code
            raise self._refused(f"its chat template refuses: {' '.join(str(error).split())}") from error

    def _encode(self, texts: Sequence[str]) -> list[Ids]:
        if not texts:
            return []
        fast = self.tokenizer.backend_tokenizer  # much faster than the wrapper
        return [encoding.ids for encoding in fast.encode_batch(list(texts), add_special_tokens=False)]

    def _check(self) -> None:
        """Check that a conversation equals the concatenation of its pieces."""
        first, reply, second, other = PROBES
        for system in ("", second):
            said = [system, first, reply, second, other, first]
            whole = self._render(said)
            pieces = (self._render(said[:2]), reply, self._later(second), other, self._later(first))
            for name, piece in zip(_NAMES, pieces, strict=True):
                shown, whole = (whole, "") if name == _NAMES[-1] else (whole[: len(piece)], whole[len(piece) :])
                if shown != piece:
                    raise self._refused(
                        f"its chat template changes {name} when later ones come, from {piece[-_SHOWN:]!r} to "
                        f"{shown[-_SHOWN:]!r}, so that what was sampled is not what would be learned from; --rows turn "
                        "learns from each turn by itself"
                    )

    def _refused(self, why: str) -> ConfigError:
        return ConfigError(f"model {self.tokenizer.name_or_path or 'without a name'}: {why}")


def _marks(tokenizer: PreTrainedTokenizerFast) -> frozenset[int]:
    """Special tokens: those of a template, and the unknown token."""
    added = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    return frozenset(added | set(tokenizer.all_special_ids))
