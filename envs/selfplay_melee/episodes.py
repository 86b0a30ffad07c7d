"""Episodes of the mock, compiled: steps of many games, delay lines, scripted seats, rewards, ends and new starts.

``games``, ``options`` and ``out`` are the groups of arrays of ``arrays``; ``b`` is the index of a game.
"""

from __future__ import annotations

from typing import Final

from selfplay.compilation.compile import compiled, rule
from selfplay_melee import bots
from selfplay_melee.actions import CLIFF_CATCH
from selfplay_melee.bots.controls import release
from selfplay_melee.controller import (
    ACTION_SPEC,
    C_X,
    C_Y,
    CENTRE,
    HELD,
    HIGHEST,
    MAIN_X,
    MAIN_Y,
    SHOULDER,
    SHOULDER_CODES,
    TAP,
    TAP_FRAMES,
)
from selfplay_melee.limits import FINISHED
from selfplay_melee.observation import encode_seat
from selfplay_melee.physics.actions.death import CREDIT_FRAMES, is_away
from selfplay_melee.physics.frame import advance_frame, start_game
from selfplay_melee.physics.memory import NEVER
from selfplay_melee.reward import reward_terms, stalling_frames
from selfplay_melee.rng import mix, unit
from selfplay_melee.state import STOCKS

SPAWN_JITTER: Final = 8.0  # units; both seats start that much nearer or farther at most, so that games differ
WIDTH: Final = ACTION_SPEC.width  # as plain numbers, which compiled rules can read
NUM_BUTTONS: Final = ACTION_SPEC.binary


@compiled
def start_episode(b, games, tables, cap):
    """Start the next episode of a game; its seed follows from the game's seed and the episode's number."""
    offset = spawn_offset(games.episode[b].seed, games.episode[b].number)
    _reset_episode(b, games, cap)
    games.game[b].seed = mix(mix(games.episode[b].seed, games.episode[b].number), 3)
    start_game(games.game[b], games.players[b], games.memory[b], tables, offset)


@rule
def spawn_offset(seed, number):
    """Units by which both players start further out in this episode of a game."""
    return (2.0 * unit(mix(seed, number)) - 1.0) * SPAWN_JITTER


@rule
def _reset_episode(b, games, cap):
    """Count one more episode, release all controllers and set the sums to zero."""
    own = games.episode[b]
    own.number += 1
    own.frames = 0
    own.cap = cap
    own.clock = 0
    own.quiet = 0
    own.longest_quiet = 0
    for seat in range(2):
        release(games.controllers[b, seat])
        release(games.chosen[b, seat])
        games.press[b, seat] = HELD
        for i in range(len(games.line[b, seat])):
            release(games.line[b, seat, i])
        games.bot_memory[b, seat].kind = -1
        games.sums[b, seat, :] = 0.0


@rule
def _copy(source, target):
    target.main_x = source.main_x
    target.main_y = source.main_y
    target.c_x = source.c_x
    target.c_y = source.c_y
    target.shoulder = source.shoulder
    target.buttons = source.buttons


@compiled
def step_games(options, games, tables, out, restarts):
    """Play one step of every game and write its results. See ``MockMelee.step``.

    ``restarts``: a finished game starts its next episode; otherwise it stays, so that its last frame can be shown.
    """
    for b in range(len(games.game)):
        _scripted_choices(b, options.bot_skip, games, tables)
        _enter_choices(b, options.frame_skip, games)
        before = _counts(b, games)
        over = 0
        for _ in range(options.frame_skip):
            over = _frame(b, games, tables)
            if over == 1 or games.episode[b].frames >= games.episode[b].cap:
                break
        _pay(before, options, games.episode[b], games.players[b], games.memory[b], games.sums[b], out.reward[b])
        _settle(b, over, options.ledge_grab_limit, games, tables, out)
        if restarts and (out.terminated[b] or out.truncated[b]):
            start_episode(b, games, tables, options.cap)
        observe_game(b, games, tables, out.obs)


@rule
def _counts(b, games):
    """Of both seats: stocks, the damage that they have dealt, and self-destructs."""
    players, m = games.players[b], games.memory[b]
    dealt, lost = (m[0].damage_dealt, m[1].damage_dealt), (m[0].self_destructs, m[1].self_destructs)
    return players[0].stocks, players[1].stocks, dealt[0], dealt[1], lost[0], lost[1]


@rule
def observe_game(b, games, tables, obs):
    """Write what both seats see into ``obs`` [B, P, D], and which of them see left and right exchanged."""
    players = games.players[b]
    for seat in range(2):
        games.mirrored[b, seat] = encode_seat(
            games.game[b], players[seat], players[1 - seat], games.controllers[b, seat], games.line[b, seat],
            games.episode[b].clock, games.delay[b, seat], tables, obs[b, seat],
        )  # fmt: skip


@rule
def _scripted_choices(b, bot_skip, games, tables):
    for seat in range(2):
        if games.bots[b, seat] >= 0 and games.episode[b].clock % bot_skip == 0:
            _bot_chooses(b, seat, games, tables, games.chosen)


@rule
def _enter_choices(b, frame_skip, games):
    """What seats have chosen goes into their delay lines."""
    for seat in range(2):
        first = games.episode[b].clock + games.delay[b, seat]
        games.press[b, seat] = _enter(
            games.chosen[b, seat], games.press[b, seat], games.line[b, seat], first, frame_skip
        )


@rule
def _pay(before, options, episode, players, memory, sums, reward):
    """Write the ``reward`` [P] of a step whose frames have been played. ``before``: ``_counts`` at its start.

    It takes the parts of one game, not ``games``: the weights do not fit into registers, and a call with all arrays
    would become slow.
    """
    stocks = (before[1] - players[1].stocks) - (before[0] - players[0].stocks)
    dealt_0, dealt_1 = memory[0].damage_dealt - before[2], memory[1].damage_dealt - before[3]
    self_destructs = memory[0].self_destructs - before[4], memory[1].self_destructs - before[5]
    stalled = _stalling(episode, players, dealt_0 + dealt_1 > 0.0, options)
    for seat in range(2):
        sign = 1.0 - 2.0 * seat
        terms = reward_terms(
            options.rewards, options.frame_skip, players[1 - seat],
            sign * stocks, sign * (dealt_0 - dealt_1), self_destructs[seat], stalled,
        )  # fmt: skip
        total = terms[0]
        for i in range(1, len(terms)):
            total += terms[i]
        reward[seat] = total
        for i in range(len(terms)):
            sums[seat, i] += terms[i]


@rule
def _settle(b, over, ledge_grab_limit, games, tables, out):
    """Whether a step ended the episode, and then its results."""
    out.terminated[b] = over == 1
    out.truncated[b] = over == 0 and games.episode[b].frames >= games.episode[b].cap
    if out.terminated[b] or out.truncated[b]:
        _finish(b, over, ledge_grab_limit, games, tables, out)


@rule
def _stalling(episode, players, damaged, options):
    """Frames of stalling in this step. ``damaged``: damage was dealt in it.

    The clock stands still while a player is out of play, so that a lost stock does not reset it: a self-destruct would
    be a way out.
    """
    if damaged:
        episode.quiet = 0
    if damaged or is_away(players[0]) or is_away(players[1]):
        return 0.0
    episode.quiet += options.frame_skip
    episode.longest_quiet = max(episode.longest_quiet, episode.quiet)
    return stalling_frames(episode.quiet, options)


@rule
def _bot_chooses(b, seat, games, tables, controllers):
    """Let the scripted player of a seat choose; a new one begins with a seed of its own."""
    bot, kind, episode, players = games.bot_memory[b, seat], games.bots[b, seat], games.episode[b], games.players[b]
    if bot.kind != kind:
        bots.start_bot(bot, kind, mix(mix(episode.seed, episode.number), seat + 11))
    bots.decide(bot, games.game[b], players[seat], players[1 - seat], tables, controllers[b, seat])


@rule
def _enter(controller, press, line, first, frames):
    """Hold a controller from frame ``first`` of the delay line on; the line is a ring.

    Its buttons are pressed for ``press`` frames. Returns how many of them are left.
    """
    for i in range(frames):
        place = (first + i) % len(line)
        _copy(controller, line[place])
        if press == 0:
            line[place].buttons = 0
        elif press > 0:
            press -= 1
    return press


@rule
def _frame(b, games, tables):
    """One frame with the controllers that have arrived; 1 when the game is over."""
    _read_line(b, games, games.controllers)
    over = advance_frame(games.game[b], games.players[b], games.memory[b], games.controllers[b], tables)
    games.episode[b].clock += 1
    games.episode[b].frames += 1
    return over


@rule
def _read_line(b, games, controllers):
    place = games.episode[b].clock % len(games.line[b, 0])
    for seat in range(2):
        _copy(games.line[b, seat, place], controllers[b, seat])


@rule
def _finish(b, over, ledge_grab_limit, games, tables, out):
    """Last observations, score and counts of an episode that has just ended."""
    players, memory = games.players[b], games.memory[b]
    by_stocks = players[0].stocks == 0 or players[1].stocks == 0
    lead = _lead(players)
    if not by_stocks and ledge_grab_limit > 0:
        over_0 = memory[0].ledge_grabs > ledge_grab_limit
        over_1 = memory[1].ledge_grabs > ledge_grab_limit
        if over_0 != over_1:
            lead = -1 if over_0 else 1
    out.score[b, 0] = 0.5 if lead == 0 else (1.0 if lead > 0 else 0.0)
    out.score[b, 1] = 1.0 - out.score[b, 0]
    ended = FINISHED if by_stocks else (1 if over == 1 else 2)
    for seat in range(2):
        row = out.stats[b, seat]
        row.stocks = players[seat].stocks
        row.percent = players[seat].percent
        row.stocks_taken = STOCKS - players[1 - seat].stocks
        row.stocks_lost = STOCKS - players[seat].stocks
        row.damage = memory[seat].damage_dealt
        row.damage_taken = memory[1 - seat].damage_dealt
        row.self_destructs = memory[seat].self_destructs
        row.ledge_grabs = memory[seat].ledge_grabs
        row.frames = games.episode[b].frames
        row.frames_without_hit = games.episode[b].longest_quiet
        row.ended = ended
        for i in range(len(row.rewards)):
            row.rewards[i] = games.sums[b, seat, i]
    observe_game(b, games, tables, out.final_obs)


@rule
def _lead(players):
    """Above 0 if seat 0 leads by stocks or, on equal stocks, by percent; 0 if neither does."""
    lead = players[0].stocks - players[1].stocks
    if lead == 0 and players[0].percent != players[1].percent:
        lead = 1 if players[0].percent < players[1].percent else -1
    return lead


@compiled
def hold_actions(actions, acts, games):
    """Set ``games.chosen`` from actions [B, P, 14] where ``acts`` [B, P]; see ``controller.decode`` and ``mirror``.

    Scripted players are left out. False if a controller cannot express one of the actions; then nothing has changed.
    """
    for b in range(len(actions)):
        for seat in range(2):
            for i in range(WIDTH):
                if not 0 <= actions[b, seat, i] <= HIGHEST[i]:
                    return False
    for b in range(len(actions)):
        for seat in range(2):
            if games.bots[b, seat] >= 0 or not acts[b, seat]:
                continue
            code, hand = actions[b, seat], games.chosen[b, seat]
            side = -1.0 if games.mirrored[b, seat] else 1.0
            hand.main_x = side * (float(code[MAIN_X]) - CENTRE) / CENTRE
            hand.main_y = (float(code[MAIN_Y]) - CENTRE) / CENTRE
            hand.c_x = side * (float(code[C_X]) - CENTRE) / CENTRE
            hand.c_y = (float(code[C_Y]) - CENTRE) / CENTRE
            hand.shoulder = float(code[SHOULDER]) / (SHOULDER_CODES - 1)
            buttons = 0
            for i in range(NUM_BUTTONS):
                buttons |= int(code[i]) << i
            hand.buttons = buttons
            games.press[b, seat] = TAP_FRAMES if code[TAP] == 1 else HELD
    return True


@compiled
def begin_step(options, games, tables, before):
    """Begin a step of one game whose frames an emulator plays: choices go into the delay lines.

    ``before`` [6] gets what ``_counts`` returns.
    """
    _scripted_choices(0, options.bot_skip, games, tables)
    _enter_choices(0, options.frame_skip, games)
    before[0], before[1], before[2], before[3], before[4], before[5] = _counts(0, games)


@compiled
def next_inputs(games, inputs):
    """Write the controllers of the next frame of one such game into ``inputs`` [1, P]."""
    _read_line(0, games, inputs)


@compiled
def count_frame(games, previous):
    """Count a frame that an emulator has played: damage, self-destructs, time; 1 if a seat has no stock left.

    Damage is the rise of percent. ``previous``: PLAYER [1, P] of the frame before.
    """
    over = 0
    for seat in range(2):
        was, is_now, own = previous[0, seat], games.players[0, seat], games.memory[0, seat]
        if is_now.action == CLIFF_CATCH != was.action:
            own.ledge_grabs += 1
        if is_now.stocks < was.stocks:
            if own.last_hit_by_frames > CREDIT_FRAMES:
                own.self_destructs += 1
            own.last_hit_by_frames = NEVER
        elif is_now.percent > was.percent:
            games.memory[0, 1 - seat].damage_dealt += is_now.percent - was.percent
            own.last_hit_by_frames = 0
        else:
            own.last_hit_by_frames += 1
        if is_now.stocks <= 0:
            over = 1
    games.episode[0].clock += 1
    games.episode[0].frames += 1
    return over


@compiled
def settle_step(over, before, options, games, tables, out):
    """End a step of one such game as ``step_games`` does, but start no new episode.

    ``over``: 1 if the game has ended. ``before``: see ``begin_step``.
    """
    _pay(before, options, games.episode[0], games.players[0], games.memory[0], games.sums[0], out.reward[0])
    _settle(0, over, options.ledge_grab_limit, games, tables, out)
    observe_game(0, games, tables, out.obs)


@compiled
def reset_episode(games, cap):
    """Begin the next episode of one such game: see ``start_episode``."""
    _reset_episode(0, games, cap)


@compiled
def play_games(inputs, games, tables, cap):
    """Play raw controllers [T, B, P] of every game, resets included. See ``MockMelee.play``."""
    for b in range(len(games.game)):
        for t in range(len(inputs)):
            for seat in range(2):
                _copy(inputs[t, b, seat], games.controllers[b, seat])
            over = advance_frame(games.game[b], games.players[b], games.memory[b], games.controllers[b], tables)
            games.episode[b].frames += 1
            if over == 1 or games.episode[b].frames >= games.episode[b].cap:
                start_episode(b, games, tables, cap)


@compiled
def play_frame(bot_skip, games, tables):
    """Play one frame of one game with its controllers as they are; 1 when it is over, and no new episode starts.

    Scripted players choose theirs every ``bot_skip`` frames of the episode.
    """
    for seat in range(2):
        if games.bots[0, seat] >= 0 and games.episode[0].frames % bot_skip == 0:
            _bot_chooses(0, seat, games, tables, games.controllers)
    games.episode[0].frames += 1
    return advance_frame(games.game[0], games.players[0], games.memory[0], games.controllers[0], tables)
