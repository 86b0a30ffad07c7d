"""verl and TRL themselves on our games: configuration, agent loop, rewards, datasets, and two steps of training."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import selfplay.dialogue.integrations.verl as ours
from selfplay.dialogue.integrations.serving import chat_of
from selfplay.errors import ConfigError
from tests.dialogue.integrations.states import ScriptedServer, rows_of, tiny_tokenizer
from tests.extras.peers import MARKS

pytestmark = [
    *MARKS,
    pytest.mark.blocking("verl and TRL read files in their loops"),
]

FOLDER = Path(ours.__file__).parent


@pytest.fixture(scope="module")
def config():
    """Ours, composed over that of the installed verl."""
    from hydra import compose, initialize_config_dir

    overrides = [
        f"actor_rollout_ref.rollout.agent.agent_loop_config_path={FOLDER / 'dialop_selfplay_agent.yaml'}",
        "actor_rollout_ref.model.path=tiny", "data.train_files=train.parquet", "data.val_files=test.parquet",
        "actor_rollout_ref.actor.fsdp_config.optimizer_offload=true", "actor_rollout_ref.rollout.prompt_length=256",
        "actor_rollout_ref.ref.fsdp_config.param_offload=true", "actor_rollout_ref.rollout.response_length=256",
    ]  # fmt: skip
    with initialize_config_dir(str(FOLDER), version_base=None):
        return compose("dialop_selfplay_custom_grpo", overrides)


def agent_loop(config, generate, max_new_tokens=32):
    """Made as verl makes it, from its list of loops."""
    import hydra
    from omegaconf import OmegaConf
    from verl.experimental.agent_loop.agent_loop import DictConfigWrap
    from verl.utils.dataset.rl_dataset import RLHFDataset

    (entry,) = OmegaConf.load(config.actor_rollout_ref.rollout.agent.agent_loop_config_path)
    assert entry.pop("name") == config.actor_rollout_ref.rollout.agent.default_agent_loop
    entry["max_new_tokens"] = max_new_tokens
    return hydra.utils.instantiate(
        config=entry, trainer_config=DictConfigWrap(config), server_manager=SimpleNamespace(generate=generate),
        tokenizer=tiny_tokenizer(), processor=None, dataset_cls=RLHFDataset, data_config=DictConfigWrap(config.data),
    )  # fmt: skip


class Manager:
    """verl's server manager, behind which a scripted player sits."""

    def __init__(self, row):
        self.server = ScriptedServer(chat_of(tiny_tokenizer()), row)
        self.sampling = []

    async def generate(self, request_id, *, prompt_ids, sampling_params, **_):
        from verl.workers.rollout.replica import TokenOutput

        self.sampling.append(dict(sampling_params))
        sampled = await self.server(request_id, prompt_ids)
        steps = {"min_global_steps": 3, "max_global_steps": 3 + len(self.sampling)}
        return TokenOutput(token_ids=sampled.ids, log_probs=sampled.logprobs, extra_fields=steps)


def run(config, row, sampling):
    manager = Manager(rows_of(states=1)[0])

    async def play():
        return await agent_loop(config, manager.generate).run(sampling, **row)

    return manager, asyncio.run(play())


def test_the_configuration_composes_and_is_accepted_by_verl(config):
    from verl.trainer.ppo.reward import get_custom_reward_fn, resolve_reward_manager_cls
    from verl.utils.config import omega_conf_to_dataclass

    from selfplay.dialogue.integrations.verl.reward_manager import DialogueRewardManager

    rollout = omega_conf_to_dataclass(config.actor_rollout_ref.rollout)
    assert (rollout.name, rollout.n, rollout.calculate_log_probs) == ("sglang", 8, True)
    assert config.algorithm.adv_estimator == "grpo"
    assert config.trainer.use_v1
    actor = config.actor_rollout_ref.actor
    assert (actor.loss_agg_mode, actor.loss_scale_factor) == ("seq-mean-token-sum-norm", 6144)
    assert get_custom_reward_fn(config)("matching_game_selfplay", "", "0.5") == 0.5
    assert resolve_reward_manager_cls(config) is DialogueRewardManager


def test_an_agent_loop_returns_both_seats_of_a_whole_game(config):
    row = rows_of(states=1)[0] | {"raw_prompt": [], "index": 0}
    manager, outputs = run(config, row, {"temperature": 0.7, "logprobs": True})
    chat = chat_of(tiny_tokenizer())
    assert len(outputs) == len(manager.server.gave) == 2
    assert len({output.reward_score for output in outputs}) == 1
    assert 0.4 < outputs[0].reward_score <= 1
    for output, replies in zip(outputs, manager.server.gave.values(), strict=True):
        pairs = list(zip(output.response_ids, output.response_mask, strict=True))
        assert [token for token, mask in pairs if mask] == [token for reply in replies for token in reply]
        assert pairs[0][1] == pairs[-1][1] == 1
        assert output.response_ids[-1] == chat.end
        assert output.response_logprobs == [-0.5 * mask for _, mask in pairs]
        scores = output.as_dict()["rm_scores"]
        assert scores.nonzero().tolist() == [[len(pairs) - 1]]
        assert float(scores[-1]) == pytest.approx(output.reward_score)
        assert output.extra_fields["reward_extra_info"] == {"acc": output.reward_score}
        assert output.extra_fields["min_global_steps"] == 3
        assert output.extra_fields["max_global_steps"] == 3 + len(manager.sampling)
    for asked in manager.sampling:
        assert asked == {"temperature": 0.7, "logprobs": True, "max_tokens": 32, "stop_token_ids": [chat.end]}


def test_rows_of_other_sources_take_the_standard_path(config):
    row = {"data_source": "openai/gsm8k", "raw_prompt": rows_of(states=1)[0]["prompt"], "index": 0}
    manager, output = run(config, row, {"temperature": 0.7})
    assert manager.sampling == [{"temperature": 0.7}]
    assert output.reward_score is None
    assert output.response_ids == next(iter(manager.server.gave.values()))[0]
    assert output.response_mask == [1] * len(output.response_ids)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (rows_of("kuhn_text", states=1)[0], "the seats of kuhn_text have separate rewards"),
        (rows_of(states=1, error_penalty=0.1)[0], "error_penalty is 0.1, but verl gives both seats"),
    ],
)
def test_games_without_a_shared_reward_are_refused(config, row, told):
    with pytest.raises(ConfigError, match=told):
        run(config, row, {})


def test_the_reward_manager_looks_rewards_up_and_puts_them_on_the_last_sampled_token(config):
    import numpy as np
    from tensordict import TensorDict
    from verl import DataProto

    from selfplay.dialogue.integrations.verl.reward import compute_score
    from selfplay.dialogue.integrations.verl.reward_manager import DialogueRewardManager

    mask = torch.tensor([[1, 0, 1, 0], [1, 1, 1, 1]])
    batch = {
        "prompts": torch.zeros(2, 3, dtype=torch.long), "responses": torch.ones(2, 4, dtype=torch.long),
        "attention_mask": torch.ones(2, 7, dtype=torch.long), "response_mask": mask,
    }  # fmt: skip

    def data(source, **told):
        columns = {"data_source": source, "reward_model": {"ground_truth": "0.25"}} | told
        filled = {name: np.array([value] * 2, dtype=object) for name, value in columns.items()}
        return DataProto(batch=TensorDict(batch, batch_size=2), non_tensor_batch=filled)

    async def scores():
        manager = DialogueRewardManager(config, tiny_tokenizer(), compute_score)
        found = [
            await manager.run_single(data("matching_game_selfplay", tool_extra_fields={"normalized_reward": 0.75})),
            await manager.run_single(data("matching_game_selfplay")),
            await manager.run_single(data("openai/gsm8k", extra_info={})),
        ]
        with pytest.raises(ConfigError, match="the seats of kuhn_text have separate rewards"):
            await manager.run_single(data("kuhn_text_game_selfplay"))
        return [one["reward_score"] for one in found]

    assert asyncio.run(scores()) == [0.75, 0.25, 0.0]
    placed = DialogueRewardManager.assemble_rm_scores(data("x"), [0.5, 1.0])
    assert placed.tolist() == [[0, 0, 0.5, 0], [0, 0, 0, 1.0]]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Written games of the embedded tokenizer's players, as tables, and rows of their states."""
    from selfplay.dialogue.files.parquet import to_parquet
    from selfplay.dialogue.files.rows import COLUMNS, offline_rows
    from selfplay.dialogue.files.states import STATE_COLUMNS
    from tests.dialogue.chats import tiny_chat
    from tests.dialogue.writers import Said, in_turn, played, settings_of

    folder = tmp_path_factory.mktemp("tables")
    proposal = "[propose] Proposal:\n - BLEU: Ava Li\n - Electra: Daniel Nguyen\n - GloVe: Sofia Patel\n - GLUE: "
    games = [
        played(
            in_turn(Said(proposal + "Andrei Petrov"), Said("[accept]")),
            tiny_chat(),
            seed=seed,
            index=seed,
            game_id=str(seed),
        )
        for seed in range(3)
    ]
    rows = offline_rows(games, settings_of(), "train")
    (folder / "games.parquet").write_bytes(to_parquet(rows, COLUMNS, {}))
    (folder / "states.parquet").write_bytes(to_parquet(rows_of(states=3), STATE_COLUMNS, {}))
    return folder, rows


@pytest.mark.parametrize("name", ["games", "states"])
def test_tables_load_as_verls_prompts(config, tables, name):
    from omegaconf import OmegaConf
    from verl import DataProto
    from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn

    folder, rows = tables
    options = OmegaConf.merge(config.data, {"max_prompt_length": 256, "filter_overlong_prompts_workers": 1})
    dataset = RLHFDataset(str(folder / f"{name}.parquet"), tiny_tokenizer(), options)
    wanted = rows if name == "games" else rows_of(states=3)
    assert len(dataset) == len(wanted)
    batch = DataProto.from_single_dict(collate_fn([dataset[i] for i in range(len(dataset))]))
    for i, row in enumerate(wanted):
        told = {key: batch.non_tensor_batch[key][i] for key in batch.non_tensor_batch}
        assert told["data_source"] == row["data_source"]
        assert list(told["raw_prompt"]) == row["prompt"]
        if name == "states":
            assert json.loads(told["game_state"]) == json.loads(row["game_state"])
        else:
            assert told["reward_model"]["normalized_reward"] == row["reward_model"]["normalized_reward"]


def test_written_games_load_as_verls_conversations_with_our_ids_and_masks(config, tables):
    from omegaconf import OmegaConf
    from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset

    folder, rows = tables
    options = OmegaConf.create(
        {"messages_key": "messages", "max_length": 512, "truncation": "error", "pad_mode": "no_padding"}
    )
    dataset = MultiTurnSFTDataset(str(folder / "games.parquet"), tiny_tokenizer(), options)
    assert len(dataset) == len(rows)
    for i, row in enumerate(rows):
        item = dataset[i]
        ids = item["input_ids"].tolist()
        assert ids == row["input_ids"][: len(ids)]
        assert item["loss_mask"].tolist() == row["loss_mask"][: len(ids)]
        assert not any(row["loss_mask"][len(ids) :])  # what a seat reads after its last reply


def test_trl_trains_on_both_seats_of_games(tmp_path):
    """Two steps: what trains is what was sampled, as likely to TRL as it was to us, and the weights move."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from selfplay.dialogue.find import find_dialogue
    from selfplay.dialogue.integrations.trl import SelfPlayRollout, shared_reward
    from selfplay.dialogue.language.tiny import make_tiny
    from tests.dialogue.models import SPEC

    entry = find_dialogue("matching")
    model = make_tiny(SPEC, entry.vocabulary(entry.configure(True, {})), 5)
    # Agreement is beyond a model that knows nothing: replies that the game refuses cost it something here.
    rollout = SelfPlayRollout(rows_of(states=2, retries=3, error_penalty=0.01), model, max_new_tokens=24)
    played, scored, seen = [], [], []

    def play(prompts, trainer):
        played.append(rollout(prompts, trainer))
        return played[-1]

    def reward(completions, game_reward, **told):
        seen.append((told["completion_ids"], list(game_reward)))
        return shared_reward(completions, game_reward=game_reward)

    options = GRPOConfig(
        output_dir=str(tmp_path), report_to="none", use_cpu=True, bf16=False, gradient_checkpointing=False,
        per_device_train_batch_size=8, num_generations=8, max_completion_length=256, max_steps=2, learning_rate=1e-2,
        save_strategy="no", logging_steps=1, temperature=1.0, loss_type="dr_grpo",
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=model.module, reward_funcs=reward, args=options, train_dataset=Dataset.from_list(rollout.prompts),
        processing_class=model.chat.tokenizer, rollout_func=play,
    )  # fmt: skip
    before = [parameter.detach().clone() for parameter in model.module.parameters()]
    generate = trainer._generate_and_score_completions

    def generate_and_score(inputs):
        found = generate(inputs)
        ids, masks = (torch.cat([found[f"prompt_{name}"], found[f"completion_{name}"]], 1) for name in ("ids", "mask"))
        kept = found["completion_ids"].shape[1]
        with torch.no_grad():
            scored.append(trainer._get_per_token_logps_and_entropies(trainer.model, ids, masks, kept)[0])
        return found

    trainer._generate_and_score_completions = generate_and_score
    trainer.train()
    assert trainer.state.global_step == 2
    assert len(seen) == 2
    assert all(len(ids) == len(rewards) == 8 for ids, rewards in seen)
    assert any(len(Counter(rewards)) > 1 for _, rewards in seen)
    assert any(not torch.equal(a, b) for a, b in zip(before, model.module.parameters(), strict=True))
    interrupted = 0  # rows in which the seat read something between two replies
    for columns, logprobs in zip(played, scored, strict=True):
        for mask, ours_said, theirs in zip(columns["env_mask"], columns["logprobs"], logprobs, strict=True):
            where = torch.tensor(mask).bool()
            torch.testing.assert_close(theirs[: len(mask)][where], torch.tensor(ours_said)[where], atol=1e-4, rtol=0)
            interrupted += 0 in mask and 1 in mask
    assert interrupted
    assert sum(sum(mask) for columns in played for mask in columns["env_mask"]) > 100
