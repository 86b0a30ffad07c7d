"""How servers are asked for a reply, and how their answers are read: three formats, and nothing taken on trust.

    SGLang        POST /generate             ids in, ids and log-probabilities out
    completions   POST /v1/completions       ids in; ids and log-probabilities out (vLLM), else text
    chat          POST /v1/chat/completions  messages in, text out

An answer is data of somebody else: whatever is not exactly what was asked for is a ``BadAnswer``, and nothing is
repaired. Ids that a server gives are kept as they are. The log-probabilities are those that the server tells: SGLang's
are taken before the nucleus is cut, vLLM's are the model's own unless it runs with ``--logprobs-mode
processed_logprobs``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from envs.files import parse_json
from selfplay.policy.language.conversation import Reply

if TYPE_CHECKING:
    from selfplay.policy.language.chat import Chat, Ids, Message
    from selfplay.policy.language.sampling import Sampling

Json = dict[str, Any]
LENGTH, STOP = "length", "stop"
MAX_BYTES: Final = 1 << 26  # of an answer
_ABOVE: Final = 1e-3  # that rounding may lift a log-probability above 0


class BadAnswer(Exception):
    """An answer that is not what was asked for; the message says in which way."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a reply is asked for."""

    ids: Ids  # the conversation so far
    messages: Sequence[Message]  # the same as texts


class Wire(Protocol):
    """A format."""

    @property
    def path(self) -> str:
        """Where it is asked."""
        ...

    @property
    def told(self) -> str:
        """What comes back, for people."""
        ...

    def body(self, question: Question, sampling: Sampling, chat: Chat) -> Json:
        """The request."""
        ...

    def read(self, answer: Json, sampling: Sampling, chat: Chat) -> Reply:
        """The reply in an answer.

        Raises:
            BadAnswer: there is none.
        """
        ...


@dataclass(frozen=True, slots=True)
class SGLang:
    """SGLang's own endpoint."""

    path: str = "/generate"
    told: str = "SGLang: token ids and log-probabilities"

    def body(self, question: Question, sampling: Sampling, chat: Chat) -> Json:
        """See ``Wire``."""
        return {
            "input_ids": question.ids,
            "sampling_params": {
                "temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": -1, "min_p": 0.0,
                "repetition_penalty": 1.0, "max_new_tokens": sampling.max_new_tokens,
                "stop_token_ids": sorted(chat.ends), "no_stop_trim": True, "skip_special_tokens": False,
            },
            "return_logprob": True,
        }  # fmt: skip

    def read(self, answer: Json, sampling: Sampling, chat: Chat) -> Reply:
        """See ``Wire``."""
        meta = _field(answer, "meta_info", dict)
        reason = _field(_field(meta, "finish_reason", dict), "type", str)
        ids = _optional(answer, "output_ids", list)
        told = _optional(meta, "output_token_logprobs", list)
        if told is None:
            return reply_of(_needed(ids, "output_ids"), None, reason, sampling, chat)
        if not all(isinstance(entry, list) and len(entry) >= 2 for entry in told):
            raise BadAnswer("output_token_logprobs are not pairs")
        sampled = [entry[1] for entry in told]
        if ids is not None and ids not in (sampled, sampled[:-1]):  # the last, which ends it, may have been cut off
            raise BadAnswer(f"{len(ids)} output_ids are not those of {len(sampled)} log-probabilities")
        return reply_of(sampled, [entry[0] for entry in told], reason, sampling, chat)


@dataclass(frozen=True, slots=True)
class Completions:
    """OpenAI's older endpoint; with ``ids`` the server tells them, as vLLM does."""

    model: str
    ids: bool
    path: str = "/v1/completions"

    @property
    def told(self) -> str:
        """See ``Wire``."""
        return "completions: " + ("token ids and log-probabilities" if self.ids else "text alone")

    def body(self, question: Question, sampling: Sampling, chat: Chat) -> Json:
        """See ``Wire``."""
        asked: Json = {
            "model": self.model, "prompt": question.ids, "max_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature, "top_p": sampling.top_p,
        }  # fmt: skip
        if self.ids:  # what follows is vLLM's: nothing of the model's own habits of sampling
            asked |= {
                "logprobs": 1, "return_token_ids": True, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0,
                "stop_token_ids": sorted(chat.ends), "skip_special_tokens": False,
            }  # fmt: skip
        return asked

    def read(self, answer: Json, sampling: Sampling, chat: Chat) -> Reply:
        """See ``Wire``."""
        choice = _only_choice(answer)
        reason = _field(choice, "finish_reason", str)
        if not self.ids:
            return text_reply(_field(choice, "text", str), reason, sampling, chat)
        told = _optional(choice, "logprobs", dict)
        logprobs = None if told is None else _optional(told, "token_logprobs", list)
        return reply_of(_field(choice, "token_ids", list), logprobs, reason, sampling, chat)


@dataclass(frozen=True, slots=True)
class ChatCompletions:
    """OpenAI's chat endpoint: the server has the template, and tells text."""

    model: str
    path: str = "/v1/chat/completions"
    told: str = "chat: text alone"

    def body(self, question: Question, sampling: Sampling, chat: Chat) -> Json:
        """See ``Wire``."""
        del chat
        return {
            "model": self.model, "messages": list(question.messages), "max_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature, "top_p": sampling.top_p,
        }  # fmt: skip

    def read(self, answer: Json, sampling: Sampling, chat: Chat) -> Reply:
        """See ``Wire``."""
        choice = _only_choice(answer)
        text = _field(_field(choice, "message", dict), "content", str)
        return text_reply(text, _field(choice, "finish_reason", str), sampling, chat)


def reply_of(ids: list[Any], logprobs: list[Any] | None, reason: str, sampling: Sampling, chat: Chat) -> Reply:
    """A reply of ids, and their log-probabilities where they are told.

    Raises:
        BadAnswer: they are not ids of the vocabulary, they are none or too many, an end stands in their middle or
            none where they are said to have ended, or as many log-probabilities are not there.
    """
    if not all(type(one) is int and 0 <= one < chat.size for one in ids):
        raise BadAnswer(f"token ids that are not in the vocabulary of {chat.size}")
    if not 0 < len(ids) <= sampling.max_new_tokens:
        raise BadAnswer(f"{len(ids)} tokens, of 1 to {sampling.max_new_tokens} that were asked for")
    ended = ids[-1] in chat.ends
    if any(one in chat.ends for one in ids[:-1]):
        raise BadAnswer("an end-of-turn token in the middle of a reply")
    if reason not in (STOP, LENGTH) or (reason == STOP and not ended):
        raise BadAnswer(f"it ended by {reason!r}" + (" without an end-of-turn token" if reason == STOP else ""))
    if logprobs is None:
        logprobs = [math.nan] * len(ids)
    elif len(logprobs) != len(ids):
        raise BadAnswer(f"{len(ids)} tokens with {len(logprobs)} log-probabilities")
    elif not all(type(one) in (int, float) and -math.inf < one <= _ABOVE for one in logprobs):
        raise BadAnswer("log-probabilities that are none")
    return Reply(chat.text_of([ids])[0], ids, [float(one) for one in logprobs], ended)


def text_reply(text: str, reason: str, sampling: Sampling, chat: Chat) -> Reply:
    """A reply of text, encoded as the model would have written it; how likely it was is not known.

    Raises:
        BadAnswer: it holds what only a template writes, or words that the model has no token for.
    """
    ids = chat.ids_of([text])[0]
    if not chat.marks.isdisjoint(ids[:-1]):
        raise BadAnswer("text with tokens that are no text, or that the model has no token for")
    if reason == STOP and len(ids) > sampling.max_new_tokens:  # the server counts in tokens of its own
        reason = LENGTH
    ids = ids if reason == STOP else ids[:-1][: sampling.max_new_tokens]
    return reply_of(ids, None, reason, sampling, chat)


def decode(data: bytes) -> Json:
    """An answer as JSON.

    Raises:
        BadAnswer: it is no JSON object.
    """
    try:
        document = parse_json(data, MAX_BYTES)
    except ValueError as error:
        raise BadAnswer(f"not JSON: {' '.join(str(error).split())}") from error
    if not isinstance(document, dict):
        raise BadAnswer("JSON, but no object")
    return document


def _only_choice(answer: Json) -> Json:
    choices = _field(answer, "choices", list)
    if len(choices) != 1 or not isinstance(choices[0], dict):
        raise BadAnswer("not one choice")
    return choices[0]


def _field(document: Json, name: str, kind: type) -> Any:  # noqa: ANN401
    return _needed(_optional(document, name, kind), name)


def _needed(value: Any, name: str) -> Any:  # noqa: ANN401
    if value is None:
        raise BadAnswer(f"no {name}")
    return value


def _optional(document: Json, name: str, kind: type) -> Any:  # noqa: ANN401
    value = document.get(name)
    if value is not None and not isinstance(value, kind):
        raise BadAnswer(f"{name} is no {kind.__name__}")
    return value
