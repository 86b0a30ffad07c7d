"""Episodes of the mock, compiled: steps of many games, delay lines, scripted seats, rewards, ends and new starts.

Everything here is an array with one row a game; ``MockMelee`` owns them. Records are those of ``state``, the memory of
the rules and of the scripted players, and ``EPISODE`` and ``STATS`` below.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from envs.melee import bots
from envs.melee.bots.hands import release
from envs.melee.controller import ACTION_SPEC, C_X, C_Y, CENTRE, HIGHEST, MAIN_X, MAIN_Y, SHOULDER, SHOULDER_CODES
from envs.melee.observation import encode_seat
from envs.melee.physics.compile import compiled, rule
from envs.melee.physics.death import CREDIT_FRAMES
from envs.melee.physics.frame import advance_frame, clear_memory, start_game
from envs.melee.physics.memory import NEVER
from envs.melee.reward import reward_terms
from envs.melee.rng import mix, unit
from envs.melee.state import STOCKS

SPAWN_JITTER: Final = 8.0  # units; both seats start that much nearer or farther at most, so that games differ
WIDTH: Final = ACTION_SPEC.width  # as plain numbers, which compiled rules can read
NUM_BUTTONS: Final = ACTION_SPEC.binary
ENDED_BY: Final = ("stocks", "timer", "cap")

# Counts of one episode, for each seat.
STATS: Final = np.dtype(
    [
        ("stocks", "i4"),  # left at the end
        ("percent", "f8"),  # at the end
        ("stocks_taken", "i4"),
        ("damage", "f8"),  # dealt
        ("damage_taken", "f8"),
        ("self_destructs", "i4"),
        ("frames", "i4"),
        ("ended", "i4"),  # index into ENDED_BY
        ("reward_stock", "f8"),
        ("reward_damage", "f8"),
    ],
    align=True,
)

# What a block knows of a game beside its state.
EPISODE: Final = np.dtype(
    [("seed", "i8"), ("number", "i4"), ("frames", "i4"), ("cap", "i4"), ("clock", "i4")], align=True
)


@compiled
def start_episode(b, episode, game, players, memory, controllers, chosen, line, bot_memory, sums, tables, cap):
    """Start the next episode of game ``b``; its seed follows from the game's seed and the episode's number."""
    offset = spawn_offset(episode[b].seed, episode[b].number)
    _forget_episode(b, episode, controllers, chosen, line, bot_memory, sums, cap)
    start_game(game[b], players[b], memory[b], tables, offset)


@rule
def spawn_offset(seed, number):
    """Units by which both players start further out in this episode of a game."""
    return (2.0 * unit(mix(seed, number)) - 1.0) * SPAWN_JITTER


@rule
def _forget_episode(b, episode, controllers, chosen, line, bot_memory, sums, cap):
    """Count one more episode; nothing is held, on its way or summed up yet."""
    own = episode[b]
    own.number += 1
    own.frames = 0
    own.cap = cap
    own.clock = 0
    for seat in range(2):
        release(controllers[b, seat])
        release(chosen[b, seat])
        for i in range(len(line[b, seat])):
            release(line[b, seat, i])
        bot_memory[b, seat].kind = -1
        sums[b, seat, :] = 0.0


@rule
def _copy(source, target):
    target.main_x = source.main_x
    target.main_y = source.main_y
    target.c_x = source.c_x
    target.c_y = source.c_y
    target.shoulder = source.shoulder
    target.buttons = source.buttons


@compiled
def step_games(
    frame_skip, bot_skip, cap, delay, weights, episode, game, players, controllers, memory, bot_kind, bot_memory,
    chosen, line, mirrored, sums, tables, obs, reward, terminated, truncated, final_obs, score, stats,
):  # fmt: skip
    """Play one step of every game and write what it gave; finished games start anew. See ``MockMelee.step``."""
    for b in range(len(game)):
        _scripted_choices(b, bot_skip, episode, game, players, bot_kind, bot_memory, chosen, tables)
        _enter_choices(b, frame_skip, delay, episode, chosen, line)
        before_0, before_1 = players[b, 0].stocks, players[b, 1].stocks
        dealt_0, dealt_1 = memory[b, 0].damage_dealt, memory[b, 1].damage_dealt
        over = 0
        for _ in range(frame_skip):
            over = _frame(b, episode, game, players, controllers, memory, line, tables)
            if over == 1 or episode[b].frames >= episode[b].cap:
                break
        dealt_0, dealt_1 = memory[b, 0].damage_dealt - dealt_0, memory[b, 1].damage_dealt - dealt_1
        _settle(
            b, over, (before_0, before_1), dealt_0, dealt_1, weights, episode, game, players, controllers, memory,
            sums, tables, reward, terminated, truncated, final_obs, score, stats,
        )  # fmt: skip
        if terminated[b] or truncated[b]:
            start_episode(b, episode, game, players, memory, controllers, chosen, line, bot_memory, sums, tables, cap)
        for seat in range(2):
            mirrored[b, seat] = encode_seat(
                game[b], players[b, seat], players[b, 1 - seat], controllers[b, seat], tables, obs[b, seat]
            )


@rule
def _scripted_choices(b, bot_skip, episode, game, players, bot_kind, bot_memory, chosen, tables):
    """Let scripted players choose, where it is their turn."""
    for seat in range(2):
        if bot_kind[b, seat] >= 0 and episode[b].clock % bot_skip == 0:
            _bot_chooses(b, seat, episode, game, players, bot_kind, bot_memory, chosen, tables)


@rule
def _enter_choices(b, frame_skip, delay, episode, chosen, line):
    """What seats have chosen goes into their delay lines."""
    for seat in range(2):
        _enter(chosen[b, seat], line[b, seat], episode[b].clock + delay[b, seat], frame_skip)


@rule
def _settle(
    b, over, before, dealt_0, dealt_1, weights, episode, game, players, controllers, memory, sums, tables, reward,
    terminated, truncated, final_obs, score, stats,
):  # fmt: skip
    """Reward of a step whose frames have been played, and what there is to say of an episode that it ended."""
    terminated[b] = over == 1
    truncated[b] = over == 0 and episode[b].frames >= episode[b].cap
    stock, damage = reward_terms(before, players[b, 0], players[b, 1], dealt_0, dealt_1, weights[0], weights[1])
    reward[b, 0] = stock + damage
    reward[b, 1] = -reward[b, 0]
    sums[b, 0, 0] += stock
    sums[b, 0, 1] += damage
    sums[b, 1, 0] -= stock
    sums[b, 1, 1] -= damage
    if terminated[b] or truncated[b]:
        _finish(b, over, episode, game, players, controllers, memory, sums, tables, final_obs, score, stats)


@rule
def _bot_chooses(b, seat, episode, game, players, bot_kind, bot_memory, chosen, tables):
    """Let the scripted player of a seat choose; a new one begins with a seed of its own."""
    bot = bot_memory[b, seat]
    if bot.kind != bot_kind[b, seat]:
        bots.start_bot(bot, bot_kind[b, seat], mix(mix(episode[b].seed, episode[b].number), seat + 11))
    bots.decide(bot, game[b], players[b, seat], players[b, 1 - seat], tables, chosen[b, seat])


@rule
def _enter(controller, line, first, frames):
    """Hold a controller from frame ``first`` of the delay line on; the line is a ring."""
    for i in range(frames):
        _copy(controller, line[(first + i) % len(line)])


@rule
def _frame(b, episode, game, players, controllers, memory, line, tables):
    """One frame with the controllers that have arrived; 1 when the game is over."""
    place = episode[b].clock % len(line[b, 0])
    for seat in range(2):
        _copy(line[b, seat, place], controllers[b, seat])
    over = advance_frame(game[b], players[b], memory[b], controllers[b], tables)
    episode[b].clock += 1
    episode[b].frames += 1
    return over


@rule
def _finish(b, over, episode, game, players, controllers, memory, sums, tables, final_obs, score, stats):
    """Last observations, score and counts of an episode that has just ended."""
    first, second = players[b, 0], players[b, 1]
    lead = first.stocks - second.stocks
    if lead == 0 and first.percent != second.percent:
        lead = 1 if first.percent < second.percent else -1
    score[b, 0] = 0.5 if lead == 0 else (1.0 if lead > 0 else 0.0)
    score[b, 1] = 1.0 - score[b, 0]
    by_stocks = first.stocks == 0 or second.stocks == 0
    ended = 0 if by_stocks else (1 if over == 1 else 2)
    for seat in range(2):
        row = stats[b, seat]
        row.stocks = players[b, seat].stocks
        row.percent = players[b, seat].percent
        row.stocks_taken = STOCKS - players[b, 1 - seat].stocks
        row.damage = memory[b, seat].damage_dealt
        row.damage_taken = memory[b, 1 - seat].damage_dealt
        row.self_destructs = memory[b, seat].self_destructs
        row.frames = episode[b].frames
        row.ended = ended
        row.reward_stock = sums[b, seat, 0]
        row.reward_damage = sums[b, seat, 1]
        encode_seat(game[b], players[b, seat], players[b, 1 - seat], controllers[b, seat], tables, final_obs[b, seat])


@compiled
def hold_actions(actions, mirrored, bot_kind, acts, chosen):
    """Put actions [B, P, 13] into the hands of those who act; see ``controller.decode`` and ``mirror``.

    A scripted player never acts. Returns whether all actions were such that a controller can express; where one was
    not, nothing has changed.
    """
    for b in range(len(actions)):
        for seat in range(2):
            for i in range(WIDTH):
                if not 0 <= actions[b, seat, i] <= HIGHEST[i]:
                    return False
    for b in range(len(actions)):
        for seat in range(2):
            if bot_kind[b, seat] >= 0 or not acts[b, seat]:
                continue
            code, hand = actions[b, seat], chosen[b, seat]
            side = -1.0 if mirrored[b, seat] else 1.0
            hand.main_x = side * (float(code[MAIN_X]) - CENTRE) / CENTRE
            hand.main_y = (float(code[MAIN_Y]) - CENTRE) / CENTRE
            hand.c_x = side * (float(code[C_X]) - CENTRE) / CENTRE
            hand.c_y = (float(code[C_Y]) - CENTRE) / CENTRE
            hand.shoulder = float(code[SHOULDER]) / (SHOULDER_CODES - 1)
            buttons = 0
            for i in range(NUM_BUTTONS):
                buttons |= int(code[i]) << i
            hand.buttons = buttons
    return True


@compiled
def choose_inputs(bot_skip, episode, game, players, bot_kind, bot_memory, chosen, tables):
    """Let the scripted players of games choose whose frames come from elsewhere."""
    for b in range(len(game)):
        _scripted_choices(b, bot_skip, episode, game, players, bot_kind, bot_memory, chosen, tables)


@compiled
def begin_step(frame_skip, delay, episode, players, memory, chosen, line, start):
    """The beginning of a step of one such game: what seats chose goes into their delay lines.

    ``start`` [4] gets the stocks of both seats, and the damage that both have dealt.
    """
    _enter_choices(0, frame_skip, delay, episode, chosen, line)
    for seat in range(2):
        start[seat] = players[0, seat].stocks
        start[2 + seat] = memory[0, seat].damage_dealt


@compiled
def next_inputs(episode, line, inputs):
    """The controllers that have arrived for the next frame of such games, into ``inputs`` [B, P]."""
    for b in range(len(episode)):
        place = episode[b].clock % len(line[b, 0])
        for seat in range(2):
            _copy(line[b, seat, place], inputs[b, seat])


@compiled
def count_frame(episode, before, players, memory):
    """Count a frame that was played elsewhere: damage, self-destructs, time; 1 where a seat has no stock left.

    Damage is what percent rose by. ``before``: PLAYER [B, P] of the frame before.
    """
    over = 0
    for b in range(len(episode)):
        for seat in range(2):
            was, is_now, own = before[b, seat], players[b, seat], memory[b, seat]
            if is_now.stocks < was.stocks:
                if own.last_hit_by_frames > CREDIT_FRAMES:
                    own.self_destructs += 1
                own.last_hit_by_frames = NEVER
            elif is_now.percent > was.percent:
                memory[b, 1 - seat].damage_dealt += is_now.percent - was.percent
                own.last_hit_by_frames = 0
            else:
                own.last_hit_by_frames += 1
            if is_now.stocks <= 0:
                over = 1
        episode[b].clock += 1
        episode[b].frames += 1
    return over


@compiled
def settle_step(
    over, start, weights, episode, game, players, controllers, memory, mirrored, sums, tables, obs, reward,
    terminated, truncated, final_obs, score, stats,
):  # fmt: skip
    """The end of a step of one such game: as ``step_games``, but nothing starts anew.

    ``over``: whether the game has ended. ``start``: see ``begin_step``.
    """
    dealt_0, dealt_1 = memory[0, 0].damage_dealt - start[2], memory[0, 1].damage_dealt - start[3]
    _settle(
        0, over, (start[0], start[1]), dealt_0, dealt_1, weights, episode, game, players, controllers, memory, sums,
        tables, reward, terminated, truncated, final_obs, score, stats,
    )  # fmt: skip
    for seat in range(2):
        mirrored[0, seat] = encode_seat(
            game[0], players[0, seat], players[0, 1 - seat], controllers[0, seat], tables, obs[0, seat]
        )


@compiled
def forget_episodes(episode, memory, controllers, chosen, line, bot_memory, sums, cap):
    """The next episode of such games begins: see ``start_episode``."""
    for b in range(len(episode)):
        _forget_episode(b, episode, controllers, chosen, line, bot_memory, sums, cap)
        for seat in range(2):
            clear_memory(memory[b, seat])


@compiled
def play_games(inputs, cap, episode, game, players, controllers, memory, chosen, line, bot_memory, sums, tables):
    """Play raw controllers [T, B, P] of every game, resets included. See ``MockMelee.play``."""
    for b in range(len(game)):
        for t in range(len(inputs)):
            for seat in range(2):
                _copy(inputs[t, b, seat], controllers[b, seat])
            over = advance_frame(game[b], players[b], memory[b], controllers[b], tables)
            episode[b].frames += 1
            if over == 1 or episode[b].frames >= episode[b].cap:
                start_episode(
                    b, episode, game, players, memory, controllers, chosen, line, bot_memory, sums, tables, cap
                )


@compiled
def play_frame(b, bot_skip, bot_kind, episode, game, players, controllers, memory, bot_memory, tables):
    """Play one frame of game ``b`` with its controllers as they are; 1 when the game is over, and nothing starts anew.

    Scripted players take theirs in hand every ``bot_skip`` frames of the episode.
    """
    for seat in range(2):
        if bot_kind[b, seat] >= 0 and episode[b].frames % bot_skip == 0:
            _bot_chooses(b, seat, episode, game, players, bot_kind, bot_memory, controllers, tables)
    episode[b].frames += 1
    return advance_frame(game[b], players[b], memory[b], controllers[b], tables)
