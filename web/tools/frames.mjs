/**
 * Measures what frames with packets cost beside the run that they show, in the engine of the page, in Node: the time of the
 * answers to `frame` over that of the answers to `advance`, the least of several runs in turns. Frames come at a fixed
 * simulated interval, as in `make bench`, and as the page asks for them when it plays as fast as it can: one for each 24 ms of
 * work, as the player has it.
 *
 *     node web/tools/frames.mjs [ENGINE.wasm] [--rounds 3]
 */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../..');
/** Scenarios, each with a transport and the simulated time in ms at which it is stopped. */
const CASES = [
  ['incast', 'expresspass', 12],
  ['incast', 'dctcp', 12],
  ['dumbbell', 'dctcp', 15],
  ['rdma-mix', null, 2],
  ['shuffle', 'expresspass', 6],
  ['websearch', 'expresspass', 10],
];
/** The simulated interval of `make bench`, in ps, and the work in ms after which the page shows a frame. */
const INTERVAL = 10e6;
const PATIENCE_MS = 24;

const { positionals, values } = parseArgs({ allowPositionals: true, options: { rounds: { type: 'string', default: '3' } } });
const target = process.env.CARGO_TARGET_DIR ?? resolve(ROOT, 'target');
const module = new WebAssembly.Module(readFileSync(positionals[0] ?? `${target}/web/clearway_web.wasm`));

/** Runs a scenario with frames, and returns the times in ms of the run and of the frames, and the number of frames. */
function run([name, transport, stop], atPace) {
  const exports = new WebAssembly.Instance(module).exports;
  const ask = (request) => {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const room = exports.request(bytes.length);
    new Uint8Array(exports.memory.buffer, room, bytes.length).set(bytes);
    return exports.handle();
  };
  const reply = () => JSON.parse(new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.reply_pointer(), exports.reply_length())));
  const text = readFileSync(resolve(ROOT, `scenarios/${name}.toml`), 'utf8');
  ask({ op: 'open', run: 0, name, text, transport, set: [['stop', `"${stop} ms"`]] });
  if (reply().error) throw new Error(reply().error);
  let [spent, frames, count, since] = [0, 0, 0, 0];
  for (let now = INTERVAL, ended = null; ended === null; now += INTERVAL) {
    const began = performance.now();
    ask({ op: 'advance', run: 0, until_ps: now, events: 1e9 });
    const between = performance.now();
    spent += between - began;
    since += between - began;
    ({ ended } = reply());
    if (atPace && since < PATIENCE_MS) continue;
    since = 0;
    const before = performance.now();
    ask({ op: 'frame', run: 0 });
    frames += performance.now() - before;
    count += 1;
  }
  return { spent, frames, count };
}

for (const one of CASES) {
  const words = [];
  for (const atPace of [false, true]) {
    let best = null;
    for (let round = 0; round < Number(values.rounds); round += 1) {
      const found = run(one, atPace);
      if (best === null || found.spent + found.frames < best.spent + best.frames) best = found;
    }
    const share = ((100 * best.frames) / best.spent).toFixed(1);
    words.push(`${share} % of ${best.spent.toFixed(0)} ms with ${best.count} frames ${atPace ? 'at the pace of the page' : 'every 10 us'}`);
  }
  console.log(`${one[0]}${one[1] ? ` under ${one[1]}` : ''}: ${words.join(', ')}`);
}
