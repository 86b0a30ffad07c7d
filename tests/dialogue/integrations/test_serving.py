"""Whole games by a server of ids: rows, limits, and what becomes of failures."""

import asyncio

import pytest

from selfplay.dialogue.integrations.initial_states import initial_state
from selfplay.dialogue.integrations.serving import Sampled, TokenLimits, chat_of, play
from selfplay.errors import ConfigError, RunnerError
from tests.dialogue.integrations.states import ScriptedServer, rows_of, tiny_tokenizer

LIMITS = TokenLimits(prompt=256, response=256, reply=32)


def played(generate=None, limits=LIMITS, row=None):
    row = row or rows_of(states=1)[0]
    chat = chat_of(tiny_tokenizer())
    server = generate or ScriptedServer(chat, row)
    return server, asyncio.run(play(initial_state(row), chat, limits, server))


def test_both_seats_lived_what_the_server_read_and_wrote():
    server, (game, rows) = played()
    assert game.outcome.reason == "agreed"
    assert [row.seat for row in rows] == [0, 1]
    assert rows[0].reward == rows[1].reward == game.outcome.rewards[0] > 0.4
    assert len(server.gave) == 2
    for row, (name, replies) in zip(rows, server.gave.items(), strict=True):
        whole = row.prompt + row.response
        sampled = [token for token, mask in zip(row.response, row.mask, strict=True) if mask]
        assert sampled == [token for reply in replies for token in reply]
        asked = [ids for other, ids in server.asked if other == name]
        assert row.prompt == asked[0]
        assert all(whole[: len(ids)] == ids for ids in asked)
        assert whole == asked[-1] + replies[-1]
        assert row.logprobs == [-0.5 * mask for mask in row.mask]


def test_many_games_wait_side_by_side():
    row, chat = rows_of(states=1)[0], chat_of(tiny_tokenizer())
    servers = [ScriptedServer(chat, row) for _ in range(5)]
    gate = asyncio.Barrier(len(servers))

    async def together(server, name, ids):
        if len(server.asked) < 2:
            await gate.wait()  # would wait for ever if games were played one after the other
        return await server(name, ids)

    async def all_games():
        return await asyncio.gather(
            *(play(initial_state(row), chat, LIMITS, lambda n, i, s=server: together(s, n, i)) for server in servers)
        )

    results = asyncio.run(all_games())
    assert len({tuple(rows[0].response) for _, rows in results}) == 1


def test_a_reply_that_is_cut_off_ends_the_game_and_trains():
    async def endless(name, ids):
        return Sampled([chat_of(tiny_tokenizer()).tokenizer.vocab_size - 1] * 4, None)

    _, (game, (row,)) = played(endless, TokenLimits(256, 256, 4))
    assert game.outcome.reason == "cut_off"
    assert (row.mask, row.reward, row.logprobs) == ([1] * 4, 0.0, None)


def test_a_conversation_without_room_ends_the_game():
    _, (game, rows) = played(limits=TokenLimits(256, 40, 32))
    assert game.outcome.reason == "context"
    assert all(len(row.response) <= 40 and row.reward == 0 for row in rows)


def test_rules_that_do_not_fit_are_a_mistake():
    with pytest.raises(ConfigError, match=r"the limit is 5 \(data.max_prompt_length\)"):
        played(limits=TokenLimits(5, 256, 32))


def test_limits_under_which_no_reply_fits_are_refused():
    with pytest.raises(ConfigError, match="max_new_tokens 65: valid: 1 to the response length 64"):
        TokenLimits(64, 64, 65)


async def _dies(name, ids):
    raise ConnectionError("gone")


async def _lies(name, ids):
    return Sampled([10**6], None)


@pytest.mark.parametrize(
    ("generate", "why"), [(_dies, "ConnectionError: gone"), (_lies, "an invalid response: token ids that are not")]
)
def test_a_game_whose_reply_cannot_be_had_is_lost(generate, why):
    with pytest.raises(RunnerError, match=f"game train-0-0: {why}"):
        played(generate)


def test_who_is_cancelled_leaves_nothing_that_waits():
    row, chat = rows_of(states=1)[0], chat_of(tiny_tokenizer())

    async def never(name, ids):
        await asyncio.Event().wait()

    async def given_up():
        async with asyncio.timeout(0.2):
            await play(initial_state(row), chat, LIMITS, never)

    with pytest.raises(TimeoutError):
        asyncio.run(given_up())
