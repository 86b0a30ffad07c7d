"""Three API formats of servers, with strict validation of responses.

    SGLang        POST /generate             ids in, ids and log-probabilities out
    completions   POST /v1/completions       ids in; ids and log-probabilities out (vLLM), else text
    chat          POST /v1/chat/completions  messages in, text out

Responses are untrusted: any deviation is an ``InvalidResponse``, and nothing is repaired. Ids are kept as they are.
Log-probabilities are those of the server: SGLang's are taken before the nucleus is cut, vLLM's are the model's own
unless it runs with ``--logprobs-mode processed_logprobs``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from selfplay.dialogue.language.conversation import Reply
from selfplay.dialogue.language.routes import SGLANG, VLLM, WeightRoutes
from selfplay.games.files import parse_json

if TYPE_CHECKING:
    from selfplay.dialogue.language.chat import Chat, Ids, Message
    from selfplay.learner.sampling import Sampling

Json = dict[str, Any]
LENGTH, STOP = "length", "stop"
MAX_BYTES: Final = 1 << 26  # of a response
TOKEN_BYTES: Final = 1024  # at most of a token in a response: its text several times, escaped, and its numbers
TEXT_BYTES: Final = 256  # at most of a token's text
_ROUNDING: Final = 1e-3  # maximum of a rounded log-probability
_MIN_LOGPROB: Final = -1e30  # minimum of a log-probability: more than any has, and a float32


class InvalidResponse(Exception):
    """A response that does not fit the request; the message says why."""


@dataclass(frozen=True, slots=True)
class PromptMessages:
    """The conversation to continue."""

    ids: Ids  # as token ids
    messages: Sequence[Message]  # as texts


class ApiFormat(Protocol):
    """Format of requests and responses."""

    @property
    def path(self) -> str:
        """Path of the URL."""

    @property
    def description(self) -> str:
        """Contents of responses, for the user."""

    @property
    def routes(self) -> WeightRoutes:
        """How such servers take weights."""

    def body(self, prompt: PromptMessages, sampling: Sampling, chat: Chat, adapter: str | None = None) -> Json:
        """Body of a request to the model, or to an adapter of it by name."""

    def read(self, answer: Json, sampling: Sampling, chat: Chat) -> Reply:
        """The reply in a response; InvalidResponse for an invalid one."""


@dataclass(frozen=True, slots=True)
class SGLang:
    """SGLang's own endpoint."""

    path: str = "/generate"
    description: str = "SGLang: token ids and log-probabilities"
    routes: WeightRoutes = SGLANG

    def body(self, prompt: PromptMessages, sampling: Sampling, chat: Chat, adapter: str | None = None) -> Json:
        return {
            "input_ids": prompt.ids,
            "sampling_params": {
                "temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": -1, "min_p": 0.0,
                "repetition_penalty": 1.0, "max_new_tokens": sampling.max_new_tokens,
                "stop_token_ids": sorted(chat.ends), "no_stop_trim": True, "skip_special_tokens": False,
            },
            "return_logprob": True,
            **({} if adapter is None else {"lora_path": adapter}),
        }  # fmt: skip

    def read(self, answer: Json, sampling: Sampling, chat: Chat) -> Reply:
        meta = _field(answer, "meta_info", dict)
        reason = _field(_field(meta, "finish_reason", dict), "type", str)
        ids = _optional(answer, "output_ids", list)
        pairs = _optional(meta, "output_token_logprobs", list)
        if pairs is None:
            return reply_of(_needed(ids, "output_ids"), None, reason, sampling, chat)
        if not all(isinstance(entry, list) and len(entry) >= 2 for entry in pairs):
            raise InvalidResponse("output_token_logprobs are not pairs")
        sampled = [entry[1] for entry in pairs]
        if ids is not None and ids not in (sampled, sampled[:-1]):  # the end-of-turn token may be cut off
            raise InvalidResponse(f"{len(ids)} output_ids are not those of {len(sampled)} log-probabilities")
        return reply_of(sampled, [entry[0] for entry in pairs], reason, sampling, chat)


@dataclass(frozen=True, slots=True)
class Completions:
    """OpenAI's older endpoint; with ``ids`` the response has token ids, as vLLM's does."""

    model: str
    ids: bool
    path: str = "/v1/completions"
    routes: WeightRoutes = VLLM

    @property
    def description(self) -> str:
        return "completions: " + ("token ids and log-probabilities" if self.ids else "text alone")

    def body(self, prompt: PromptMessages, sampling: Sampling, chat: Chat, adapter: str | None = None) -> Json:
        body: Json = {
            "model": adapter or self.model, "prompt": prompt.ids, "max_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature, "top_p": sampling.top_p,
        }  # fmt: skip
        if self.ids:  # options of vLLM, which override sampling defaults of the model
            body |= {
                "logprobs": 1, "return_token_ids": True, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0,
                "stop_token_ids": sorted(chat.ends), "skip_special_tokens": False,
            }  # fmt: skip
        return body

    def read(self, answer: Json, sampling: Sampling, chat: Chat) -> Reply:
        choice = _only_choice(answer)
        reason = _field(choice, "finish_reason", str)
        if not self.ids:
            return text_reply(_field(choice, "text", str), reason, sampling, chat)
        found = _optional(choice, "logprobs", dict)
        logprobs = None if found is None else _optional(found, "token_logprobs", list)
        return reply_of(_field(choice, "token_ids", list), logprobs, reason, sampling, chat)


@dataclass(frozen=True, slots=True)
class ChatCompletions:
    """OpenAI's chat endpoint: the server applies the template, and responds with text.

    Without ``encoded`` the text gets no ids: of a player with a tokenizer of its own, whose replies are not trained on.
    """

    model: str
    encoded: bool = True
    path: str = "/v1/chat/completions"
    description: str = "chat: text alone"
    routes: WeightRoutes = VLLM

    def body(self, prompt: PromptMessages, sampling: Sampling, chat: Chat, adapter: str | None = None) -> Json:
        del chat
        return {
            "model": adapter or self.model, "messages": list(prompt.messages), "max_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature, "top_p": sampling.top_p,
        }  # fmt: skip

    def read(self, answer: Json, sampling: Sampling, chat: Chat) -> Reply:
        choice = _only_choice(answer)
        text = _field(_field(choice, "message", dict), "content", str)
        reason = _field(choice, "finish_reason", str)
        if self.encoded:
            return text_reply(text, reason, sampling, chat)
        check_size(text, sampling)
        return Reply(text, [], [], ended=reason == STOP)


def reply_of(ids: list[Any], logprobs: list[Any] | None, reason: str, sampling: Sampling, chat: Chat) -> Reply:
    """A reply from ids and optional log-probabilities.

    Raises:
        InvalidResponse: ids outside of the vocabulary, none or too many of them, a misplaced or missing end-of-turn
            token, or another number of log-probabilities.
    """
    if not all(type(one) is int and 0 <= one < chat.size for one in ids):
        raise InvalidResponse(f"token ids that are not in the vocabulary of {chat.size}")
    if not 0 < len(ids) <= sampling.max_new_tokens:
        raise InvalidResponse(f"{len(ids)} tokens, but 1 to {sampling.max_new_tokens} were requested")
    ended = ids[-1] in chat.ends
    if any(one in chat.ends for one in ids[:-1]):
        raise InvalidResponse("an end-of-turn token in the middle of a reply")
    if reason not in (STOP, LENGTH) or (reason == STOP and not ended):
        raise InvalidResponse(f"it ended by {reason!r}" + (" without an end-of-turn token" if reason == STOP else ""))
    if logprobs is None:
        logprobs = [math.nan] * len(ids)
    elif len(logprobs) != len(ids):
        raise InvalidResponse(f"{len(ids)} tokens with {len(logprobs)} log-probabilities")
    elif not all(type(one) in (int, float) and _MIN_LOGPROB < one <= _ROUNDING for one in logprobs):
        raise InvalidResponse("log-probabilities that are none")
    return Reply(chat.text_of([ids])[0], ids, [float(one) for one in logprobs], ended)


def text_reply(text: str, reason: str, sampling: Sampling, chat: Chat) -> Reply:
    """A reply from text, which is encoded here; its log-probabilities are unknown.

    Raises:
        InvalidResponse: the text is not Unicode, is longer than ``max_new_tokens`` tokens can be, or has special
            tokens or words that the tokenizer lacks.
    """
    check_size(text, sampling)
    ids = chat.ids_of([text])[0]
    if not chat.marks.isdisjoint(ids[:-1]):
        raise InvalidResponse("text with tokens that are no text, or that the model has no token for")
    if reason == STOP and len(ids) > sampling.max_new_tokens:  # the server may count other tokens
        reason = LENGTH
    ids = ids if reason == STOP else ids[:-1][: sampling.max_new_tokens]
    return reply_of(ids, None, reason, sampling, chat)


def check_size(text: str, sampling: Sampling) -> None:
    """Refuse text that is not Unicode, or is longer than ``max_new_tokens`` tokens can be (InvalidResponse)."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidResponse(f"text that is not Unicode: {error.reason}") from error
    if size > TEXT_BYTES * sampling.max_new_tokens:
        raise InvalidResponse(f"{size} bytes of text, but at most {sampling.max_new_tokens} tokens were requested")


def decode(data: bytes) -> Json:
    """A response as JSON; InvalidResponse if it is no JSON object."""
    try:
        document = parse_json(data, MAX_BYTES)
    except ValueError as error:
        raise InvalidResponse(f"not JSON: {' '.join(str(error).split())}") from error
    if not isinstance(document, dict):
        raise InvalidResponse("JSON, but no object")
    return document


def _only_choice(answer: Json) -> Json:
    choices = _field(answer, "choices", list)
    if len(choices) != 1 or not isinstance(choices[0], dict):
        raise InvalidResponse("not one choice")
    return choices[0]


def _field(document: Json, name: str, kind: type) -> Any:  # noqa: ANN401
    return _needed(_optional(document, name, kind), name)


def _needed(value: Any, name: str) -> Any:  # noqa: ANN401
    if value is None:
        raise InvalidResponse(f"no {name}")
    return value


def _optional(document: Json, name: str, kind: type) -> Any:  # noqa: ANN401
    value = document.get(name)
    if value is not None and not isinstance(value, kind):
        raise InvalidResponse(f"{name} is no {kind.__name__}")
    return value
