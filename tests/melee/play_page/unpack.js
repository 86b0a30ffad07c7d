// What packing.js makes of packed arrays: node unpack.js FILE. Prints lists.
import fs from "node:fs";
import { unpackAll } from "./packing.js";

const arrays = await unpackAll(JSON.parse(fs.readFileSync(process.argv[2])));
const told = Object.entries(arrays).map(([name, numbers]) => [name, [numbers.constructor.name, Array.from(numbers)]]);
console.log(JSON.stringify(Object.fromEntries(told)));
