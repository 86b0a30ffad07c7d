// A policy's network: dense layers, layers that remember, and one dense layer to all outputs.
// What is computed is that of selfplay/policy/network.py and backbones.py, in another order of sums.

const EPSILON = 1e-5; // of torch's LayerNorm

const sigmoid = (x) => 1 / (1 + Math.exp(-x));
const ACTIVATIONS = { none: (x) => x, tanh: Math.tanh, relu: (x) => Math.max(x, 0), silu: (x) => x * sigmoid(x) };

export class Network {
  /**
   * layers: as `describe` in weights.py gives them. weights: Float32Array with the numbers of all layers in order.
   *
   * Throws where the numbers are not those of the layers.
   */
  constructor(layers, weights) {
    let at = 0;
    const take = (count) => {
      if (at + count > weights.length) throw new RangeError(`the weights end after ${weights.length} numbers`);
      return weights.subarray(at, (at += count));
    };
    this.layers = layers.map((layer) => new LAYERS[layer.kind](layer, take));
    if (at !== weights.length) throw new RangeError(`the layers have ${at} weights, but there are ${weights.length}`);
    /** Numbers that a seat remembers; all are 0 at the start of an episode. */
    this.memoryWidth = this.layers.reduce((sum, layer) => sum + layer.memoryWidth, 0);
  }

  /**
   * One decision: the logits, then the value. The next call overwrites them.
   *
   * memory: Float32Array of what the seat remembers; it goes on by one decision.
   */
  forward(obs, memory) {
    let x = obs, at = 0;
    for (const layer of this.layers) x = layer.forward(x, memory.subarray(at, (at += layer.memoryWidth)));
    return x;
  }
}

class Dense {
  constructor({ inputs, outputs, activation }, take) {
    this.product = new Linear(inputs, outputs, take);
    this.activation = ACTIVATIONS[activation];
    this.memoryWidth = 0;
  }

  forward(x) {
    const out = this.product.of(x);
    for (let j = 0; j < out.length; j++) out[j] = this.activation(out[j]);
    return out;
  }
}

/** Residual layer x + core(norm(x)) with a memory. */
class Cell {
  constructor({ width }, take, gates, parts) {
    this.width = width;
    this.memoryWidth = parts * width;
    this.scale = take(width);
    this.shift = take(width);
    this.input = new Linear(width, gates * width, take);
    this.hidden = new Linear(width, gates * width, take);
    this.normed = new Float32Array(width);
    this.out = new Float32Array(width);
  }

  forward(x, memory) {
    const { width, out } = this;
    this.next(this.input.of(this.norm(x)), memory);
    for (let j = 0; j < width; j++) out[j] = x[j] + memory[j];
    return out;
  }

  norm(x) {
    const { width, normed, scale, shift } = this;
    let mean = 0, square = 0;
    for (let j = 0; j < width; j++) mean += x[j] / width;
    for (let j = 0; j < width; j++) square += (x[j] - mean) ** 2 / width;
    const factor = 1 / Math.sqrt(square + EPSILON);
    for (let j = 0; j < width; j++) normed[j] = (x[j] - mean) * factor * scale[j] + shift[j];
    return normed;
  }
}

class Gru extends Cell {
  constructor(layer, take) {
    super(layer, take, 3, 1);
  }

  /** Advance the memory, which is the output too; a: the input's share of the gates. */
  next(a, h) {
    const { width } = this, b = this.hidden.of(h);
    for (let j = 0; j < width; j++) {
      const reset = sigmoid(a[j] + b[j]), keep = sigmoid(a[width + j] + b[width + j]);
      const fresh = Math.tanh(a[2 * width + j] + reset * b[2 * width + j]);
      h[j] = fresh + keep * (h[j] - fresh);
    }
  }
}

class Lstm extends Cell {
  constructor(layer, take) {
    super(layer, take, 4, 2);
  }

  /** Advance the memory: the output, then the cells. */
  next(a, memory) {
    const { width } = this, b = this.hidden.of(memory);
    const gate = (number, j) => a[number * width + j] + b[number * width + j];
    for (let j = 0; j < width; j++) {
      const cell = sigmoid(gate(1, j)) * memory[width + j] + sigmoid(gate(0, j)) * Math.tanh(gate(2, j));
      memory[width + j] = cell;
      memory[j] = sigmoid(gate(3, j)) * Math.tanh(cell);
    }
  }
}

const LAYERS = { dense: Dense, gru: Gru, lstm: Lstm };

/** The product of a matrix [outputs, inputs] with a vector, and a bias. */
class Linear {
  constructor(inputs, outputs, take) {
    this.inputs = inputs;
    this.matrix = take(outputs * inputs);
    this.bias = take(outputs);
    this.out = new Float32Array(outputs);
  }

  /** Of the first `inputs` numbers of x. */
  of(x) {
    const { inputs, matrix, bias, out } = this, whole = inputs - (inputs % 4);
    for (let i = 0, at = 0; i < out.length; i++, at += inputs) {
      let s0 = 0, s1 = 0, s2 = 0, s3 = 0; // four sums, so that an addition need not wait for the one before it
      for (let j = 0; j < whole; j += 4) {
        s0 += matrix[at + j] * x[j];
        s1 += matrix[at + j + 1] * x[j + 1];
        s2 += matrix[at + j + 2] * x[j + 2];
        s3 += matrix[at + j + 3] * x[j + 3];
      }
      for (let j = whole; j < inputs; j++) s0 += matrix[at + j] * x[j];
      out[i] = s0 + s1 + (s2 + s3) + bias[i];
    }
    return out;
  }
}
