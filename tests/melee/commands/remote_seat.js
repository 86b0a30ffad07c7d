// Lets the server play a seat: node remote_seat.js FOLDER. Prints the actions and values, beside those of a local seat.
import fs from "node:fs";
import { Policy } from "./policy.js";
import { RemoteSeat, sendGame } from "./remote.js";

const folder = process.argv[2];
const load = (name) => new Uint8Array(fs.readFileSync(`${folder}/${name}`)).buffer;
const { server, id, description, temperatures, rows } = JSON.parse(fs.readFileSync(`${folder}/about.json`));
const obs = new Float32Array(load("obs")), width = description.obs_width;

// A browser sends the origin of the page; node has none.
const { fetch } = globalThis;
globalThis.fetch = (url, { headers, ...options }) => fetch(url, {
  ...options, headers: { ...headers, Origin: server.url },
});

const remote = new RemoteSeat(server, { id, description }, 5n);
const local = description.layers && new Policy(description, new Float32Array(load("weights"))).seat(5n);
const actions = { remote: [], local: [] }, values = [];
const decisions = Array.from({ length: 2 * rows }, (_, t) => async () => { // of two episodes
  const own = t % rows, options = { temperature: temperatures[own % temperatures.length] };
  if (own === 0) for (const seat of [remote, local]) seat?.begin(t ? 6n : 5n);
  const seen = obs.subarray(own * width, (own + 1) * width);
  actions.remote.push([...await remote.decide(seen, options)]);
  if (local) actions.local.push([...local.decide(seen, options)]);
  values.push(remote.value);
});
await decisions.reduce((before, decide) => before.then(decide), Promise.resolve());
const other = new RemoteSeat(server, { id: "other", description }, 1n);
const attempts = [sendGame(server, { format: 1 }), other.decide(obs.subarray(0, width))];
const told = (await Promise.allSettled(attempts)).map(({ value, reason }) => value ?? reason.message);
console.log(JSON.stringify({ actions, values, told }));
process.exit(0); // without waiting for connections that are kept
