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

class Seat {
  constructor({ description, heads, network }, key) {
    this.obsWidth = description.obs_width;
    this.heads = heads;
    this.network = network;
    this.memory = new Float32Array(network.memoryWidth);
    this.uniform = new Float32Array(heads.width);
    /** The last action. */
    this.action = new Int8Array(heads.width);
    this.begin(key);
  }

  /** Start an episode: forget the one before, and count decisions from 0. */
  begin(key = this.key) {
    this.key = key;
    this.decision = 0;
    /** The discounted reward to come, as the policy estimated it at the last decision. */
    this.value = NaN;
    this.memory.fill(0);
  }

  /** The action for an observation; see `Heads.draw` for the options. The next call overwrites it. */
  decide(obs, options) {
    const { obsWidth } = this;
    if (obs.length !== obsWidth) throw new RangeError(`an observation has ${obsWidth} numbers, not ${obs.length}`);
    const outputs = this.network.forward(obs, this.memory);
    this.value = outputs[this.heads.logits];
    return this.heads.draw(outputs, uniforms(this.key, this.decision++, this.uniform), this.action, options);
  }
}
