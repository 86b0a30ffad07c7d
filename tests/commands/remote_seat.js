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
globalThis.fetch = (url, { headers, ...options }) => fetch(url, { ...options, headers: { ...headers, Origin: server.url } });

const remote = new RemoteSeat(server, { id, description }, 5n);
const local = description.layers && new Policy(description, new Float32Array(load("weights"))).seat(5n);
const actions = { remote: [], local: [] }, values = [];
for (const key of [5n, 6n]) { // two episodes
  for (const seat of [remote, local]) seat?.begin(key);
  for (let t = 0; t < rows; t++) {
    const seen = obs.subarray(t * width, (t + 1) * width), options = { temperature: temperatures[t % temperatures.length] };
    actions.remote.push([...await remote.decide(seen, options)]);
    if (local) actions.local.push([...local.decide(seen, options)]);
    values.push(remote.value);
  }
}
const told = [];
for (const attempt of [() => sendGame(server, { format: 1 }), () => new RemoteSeat(server, { id: "other", description }, 1n).decide(obs.subarray(0, width))]) {
  await attempt().then((answer) => told.push(answer), (error) => told.push(error.message));
}
console.log(JSON.stringify({ actions, values, told }));
process.exit(0); // without waiting for connections that are kept
