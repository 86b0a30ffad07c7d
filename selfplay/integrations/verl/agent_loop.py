"""verl's agent loop for games of words: a row is a state, and a session one game on it, played by both seats.

verl repeats a row ``rollout.n`` times and compares the rewards of those games: GRPO's group is the state. Both seats
are returned as outputs of the session. verl's trainer V1 gives all of them the reward of the last, so only games whose
seats share their reward are played here.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput
from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop

from selfplay.errors import ConfigError
from selfplay.integrations.beginnings import Beginning, beginning, is_ours
from selfplay.integrations.serving import Limits, Sampled, chat_of, play
from selfplay.integrations.verl.reward import REWARD

if TYPE_CHECKING:
    from selfplay.integrations.seats import SeatRow

_STEPS = {"min_global_steps": min, "max_global_steps": max}  # of the weights that sampled a session


class DialogueAgentLoop(AgentLoopBase):
    """Plays whole games; rows of other sources are answered as verl answers them by itself.

    Args:
        max_new_tokens: Of a reply, the token that ends it included; a longer one is cut off, which ends the game.
    """

    def __init__(self, *args: Any, max_new_tokens: int = 256, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self._max_new_tokens = max_new_tokens
        self._made_of = args, kwargs

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput | list[AgentLoopOutput]:  # noqa: ANN401
        """Play the game of a row, or answer its prompt.

        Raises:
            ConfigError: the row, the lengths or the model's template cannot be played with.
            RunnerError: the game is lost; verl drops its group.
        """
        if not is_ours(row.get("data_source")):
            args, kwargs = self._made_of
            return await SingleTurnAgentLoop(*args, **kwargs).run(sampling_params, **row)
        begun = _shared(beginning(row))
        rollout = self.rollout_config
        limits = Limits(rollout.prompt_length, rollout.response_length, self._max_new_tokens)
        chat = chat_of(self.tokenizer)
        asked = {**sampling_params, "max_tokens": limits.reply, "stop_token_ids": sorted(chat.ends)}
        session, steps = uuid4().hex, dict[str, Any]()
        spent = 0.0

        async def generate(conversation: str, ids: list[int]) -> Sampled:
            nonlocal spent
            begin = perf_counter()
            output = await self.server_manager.generate(
                request_id=f"{session}-{conversation}", prompt_ids=ids, sampling_params=dict(asked)
            )
            spent += perf_counter() - begin
            _keep(steps, output.extra_fields)
            return Sampled(list(output.token_ids), output.log_probs or None)

        played, seats = await play(begun, chat, limits, generate)
        return [_output(seat, len(played.turns), spent, steps) for seat in seats]


def _shared(begun: Beginning) -> Beginning:
    """Refuse penalties, which are each seat's own.

    Raises:
        ConfigError: there are some.
    """
    if begun.rules.error_penalty:
        raise ConfigError(
            f"row {begun.game_id}: error_penalty is {begun.rules.error_penalty:g}, but verl gives both seats of a game "
            "one reward (valid: 0)"
        )
    return begun


def _keep(steps: dict[str, Any], told: dict[str, Any]) -> None:
    """The oldest and the newest weights that a session was sampled with, where the server tells them."""
    for name, choose in _STEPS.items():
        if told.get(name) is not None:
            steps[name] = choose(steps.get(name, told[name]), told[name])


def _output(seat: SeatRow, turns: int, spent: float, steps: dict[str, Any]) -> AgentLoopOutput:
    """A seat as verl takes it; its response ends with a sampled token, where verl puts the reward."""
    return AgentLoopOutput(
        prompt_ids=seat.prompt,
        response_ids=seat.response,
        response_mask=seat.mask,
        response_logprobs=seat.logprobs,
        reward_score=seat.reward,
        num_turns=turns,
        metrics=AgentLoopMetrics(generate_sequences=spent),
        extra_fields={
            **steps, REWARD: seat.reward, "reward_extra_info": {"acc": seat.reward}, "turn_scores": [],
            "tool_rewards": [],
        },
    )  # fmt: skip
