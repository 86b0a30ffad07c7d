// A policy that plays in a browser or in node, from what selfplay/policy/browser/weights.py has made of it.
//
//   const policy = new Policy(description, weights);
//   const seat = policy.seat(key);
//   seat.begin(key);                // at the start of each episode
//   const action = seat.decide(obs, { temperature: 1 });

import { Heads } from "./heads.js";
import { Network } from "./network.js";
import { uniforms } from "./uniforms.js";

export class Policy {
  /** description: the parsed JSON. weights: Float32Array. Throws where they do not belong together. */
  constructor(description, weights) {
    this.description = description;
    this.heads = new Heads(description.heads);
    this.network = new Network(description.layers, weights);
  }

  /** A seat that this policy plays; key: BigInt of 64 bits, from which its random numbers come. */
  seat(key) {
    return new Seat(this, key);
  }
}

/** The draws of a seat: what a network gives becomes an action, with the seat's own random numbers. */
export class Draws {
  /** description: of the policy, with `heads` and `obs_width`. */
  constructor({ obs_width }, heads, key) {
    this.obsWidth = obs_width;
    this.heads = heads;
    this.uniform = new Float32Array(heads.width);
    /** The last action. */
    this.action = new Int8Array(heads.width);
    this.start(key);
  }

  /** Start an episode: count decisions from 0. */
  start(key) {
    this.key = key;
    this.decision = 0;
    /** The discounted reward to come, as the policy estimated it at the last decision. */
    this.value = NaN;
  }

  check(obs) {
    const { obsWidth } = this;
    if (obs.length !== obsWidth) throw new RangeError(`an observation has ${obsWidth} numbers, not ${obs.length}`);
  }

  /** The action for outputs of the network: the logits, then the value. */
  draw(outputs, options) {
    this.value = outputs[this.heads.logits];
    return this.heads.draw(outputs, uniforms(this.key, this.decision++, this.uniform), this.action, options);
  }
}

class Seat extends Draws {
  constructor({ description, heads, network }, key) {
    super(description, heads, key);
    this.network = network;
    this.memory = new Float32Array(network.memoryWidth);
  }

  /** Start an episode: forget the one before, and count decisions from 0. */
  begin(key = this.key) {
    this.start(key);
    this.memory.fill(0);
  }

  /** The action for an observation; see `Heads.draw` for the options. The next call overwrites it. */
  decide(obs, options) {
    this.check(obs);
    return this.draw(this.network.forward(obs, this.memory), options);
  }
}
