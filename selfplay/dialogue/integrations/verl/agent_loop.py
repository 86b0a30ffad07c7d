"""verl's agent loop for dialogue games: a row is a state, and a session is one game with the model in both seats.

verl repeats a row ``rollout.n`` times, so a GRPO group is a state. A session returns both seats as outputs. verl's
trainer V1 gives all outputs of a session the reward of the last, so only games with a shared reward are supported.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput
from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop

from selfplay.dialogue.integrations.initial_states import InitialState, initial_state, is_ours
from selfplay.dialogue.integrations.serving import Sampled, TokenLimits, chat_of, play
from selfplay.dialogue.integrations.verl.reward import REWARD
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from selfplay.dialogue.integrations.seats import SeatTokens

_STEPS = {"min_global_steps": min, "max_global_steps": max}  # version of the weights that sampled a session


class DialogueAgentLoop(AgentLoopBase):
    """Plays whole games; other rows use verl's single-turn loop.

    Args:
        max_new_tokens: limit per reply, including the end token; a longer reply is cut off, which ends the game.
    """

    def __init__(self, *args: Any, max_new_tokens: int = 256, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self._max_new_tokens = max_new_tokens
        self._made_of = args, kwargs

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput | list[AgentLoopOutput]:  # noqa: ANN401
        """Play the game of a row, or answer its prompt.

        Raises:
            ConfigError: invalid row, lengths or chat template.
            RunnerError: the game is lost; verl drops its group.
        """
        if not is_ours(row.get("data_source")):
            args, kwargs = self._made_of
            return await SingleTurnAgentLoop(*args, **kwargs).run(sampling_params, **row)
        begun = _shared(initial_state(row))
        rollout = self.rollout_config
        limits = TokenLimits(rollout.prompt_length, rollout.response_length, self._max_new_tokens)
        chat = chat_of(self.tokenizer)
        params = {**sampling_params, "max_tokens": limits.reply, "stop_token_ids": sorted(chat.ends)}
        session, steps = uuid4().hex, dict[str, Any]()
        spent = 0.0

        async def generate(conversation: str, ids: list[int]) -> Sampled:
            nonlocal spent
            begin = perf_counter()
            output = await self.server_manager.generate(
                request_id=f"{session}-{conversation}", prompt_ids=ids, sampling_params=dict(params)
            )
            spent += perf_counter() - begin
            _keep(steps, output.extra_fields)
            return Sampled(list(output.token_ids), output.log_probs or None)

        played, seats = await play(begun, chat, limits, generate)
        return [_output(seat, len(played.turns), spent, steps) for seat in seats]


def _shared(begun: InitialState) -> InitialState:
    """Refuse error penalties, which differ by seat."""
    if begun.rules.error_penalty:
        raise ConfigError(
            f"row {begun.game_id}: error_penalty is {begun.rules.error_penalty:g}, but verl gives both seats of a game "
            "one reward (valid: 0)"
        )
    return begun


def _keep(steps: dict[str, Any], fields: dict[str, Any]) -> None:
    """Track the oldest and newest weights that sampled a session, if the server reports them."""
    for name, choose in _STEPS.items():
        if fields.get(name) is not None:
            steps[name] = choose(steps.get(name, fields[name]), fields[name])


def _output(seat: SeatTokens, turns: int, spent: float, steps: dict[str, Any]) -> AgentLoopOutput:
    """A seat as verl's output. Its response ends with a sampled token, where verl puts the reward."""
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
