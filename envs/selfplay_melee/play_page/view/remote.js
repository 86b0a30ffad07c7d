// What the server of `selfplay play --serve` does for a page: it plays policies for it, and keeps games.

import { Heads } from "../../../policy/browser/heads.js";
import { Draws } from "../../../policy/browser/policy.js";

const DECISION_MS = 5000; // for an answer; a decision takes the server some milliseconds
const GAME_MS = 120_000; // the server plays a game again before it answers

/** A seat of a policy that the server plays: the server gives what the network gives, and the action is drawn here. */
export class RemoteSeat extends Draws {
  #server;
  #id;
  #episode;

  /** server: { url, token }. opponent: of the page. key: as of `Policy.seat`. */
  constructor(server, { id, description }, key) {
    super(description, new Heads(description.heads), key);
    this.#server = server;
    this.#id = id;
    this.begin(key);
  }

  /** Start an episode; the server forgets the one before. */
  begin(key = this.key) {
    this.start(key);
    this.#episode = crypto.randomUUID();
  }

  /** A promise of the action for an observation, as `decide` of other seats gives it. One decision at a time. */
  async decide(obs, options) {
    this.check(obs);
    const about = new URLSearchParams({ policy: this.#id, episode: this.#episode, decision: this.decision });
    const answer = await post(this.#server, `decide?${about}`, "application/octet-stream", obs, DECISION_MS);
    return this.draw(new Float32Array(await answer.arrayBuffer()), options);
  }
}

/**
 * Give a game back to the server, which keeps it with the run and rates it; a promise of its answer.
 *
 * The answer has a `message`, and `waiting` if there is more to come. document: of `Match.document`. Throws with the
 * server's words where it does not take the game.
 */
export async function sendGame(server, document) {
  return (await post(server, "games", "application/json", JSON.stringify(document), GAME_MS)).json();
}

/** What became of a game whose answer has `waiting`, its number; a promise of an answer of the same kind. */
export async function askKept(server, number) {
  return (await post(server, `kept?game=${number}`, "application/json", "", GAME_MS)).json();
}

async function post({ url, token }, path, type, body, limit) {
  let answer;
  try {
    answer = await fetch(`${url}/${token}/${path}`, {
      method: "POST", body, headers: { "Content-Type": type }, signal: AbortSignal.timeout(limit),
    });
  } catch (error) {
    throw new Error(`the server of this page does not answer (${error.message}): is it still running?`, {
      cause: error,
    });
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw new Error(told.error ?? `the server of this page answered ${answer.status}`);
}
