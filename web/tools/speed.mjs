/** Measures how fast the engine is in Node, beside native runs of the same scenario: CPU time of the thread that simulates,
 * from the first event to the last, the least of several runs in turns. Native is the package in .venv, as `make build`
 * without PGO makes it.
 *
 *     node web/tools/speed.mjs [ENGINE.wasm...] [--rounds 4] [--stop "30 ms"]
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../..');
const SCENARIO = resolve(ROOT, 'scenarios/websearch.toml');
const TRANSPORTS = ['expresspass', 'dctcp', 'hpcc'];
/** Simulated time between two calls of the engine, in picoseconds. */
const STEP = 1e9;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '4' },
    stop: { type: 'string', default: '30 ms' },
    once: { type: 'string' },
  },
});

/** The CPU time of the main thread in seconds: V8 compiles in others. */
const spent = () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e9;

/** Runs the scenario once. */
function run(engine, transport) {
  const exports = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(engine))).exports;
  const ask = (request) => {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    // Asking for room may move the memory.
    const room = exports.request(bytes.length);
    new Uint8Array(exports.memory.buffer, room, bytes.length).set(bytes);
    exports.handle();
    const reply = new Uint8Array(exports.memory.buffer, exports.reply_pointer(), exports.reply_length());
    const answer = JSON.parse(new TextDecoder().decode(reply));
    if (answer.error) {
      throw new Error(answer.error);
    }
    return answer;
  };
  const text = readFileSync(SCENARIO, 'utf8');
  ask({ op: 'open', run: 0, name: 'websearch', text, transport, set: [['stop', `"${values.stop}"`]] });
  const start = spent();
  for (let [now, ended] = [0, false]; !ended; ) {
    const progress = ask({ op: 'advance', run: 0, until_ps: now + STEP });
    [now, ended] = [Math.max(now + STEP, progress.now_ps), progress.ended];
  }
  return { seconds: spent() - start, hash: ask({ op: 'result', run: 0 }).hash };
}

const NATIVE = `
import json, sys, time
from clearway._clearway import Scenario
path, transport, stop = sys.argv[1:]
scenario = Scenario.load(path, transport=transport, set=[("stop", f'"{stop}"')])
start = time.process_time()
result = scenario.run()
print(json.dumps({"seconds": time.process_time() - start, "hash": result.hash}))
`;

/** Runs the scenario in a process of its own. */
function apart(engine, transport) {
  const [program, ...words] = engine
    ? [process.execPath, import.meta.filename, engine, '--once', transport, '--stop', values.stop]
    : [resolve(ROOT, '.venv/bin/python'), '-c', NATIVE, SCENARIO, transport, values.stop];
  return JSON.parse(execFileSync(program, words, { encoding: 'utf8' }));
}

/** Runs all engines in turns, and prints what came out. */
function compare(engines) {
  for (const transport of TRANSPORTS) {
    const least = engines.map(() => Infinity);
    const hashes = new Set();
    for (let round = 0; round < Number(values.rounds); round += 1) {
      engines.forEach((engine, at) => {
        const { seconds, hash } = apart(engine, transport);
        least[at] = Math.min(least[at], seconds);
        hashes.add(hash);
      });
    }
    const share = (seconds) => `${seconds.toFixed(3)} s (${Math.round((least[0] / seconds) * 100)} %)`;
    const line = engines.map((engine, at) => `${engine ?? 'native'} ${share(least[at])}`).join(', ');
    console.log(`${transport}: ${line}${hashes.size > 1 ? '; HASHES DIFFER' : ''}`);
  }
}

if (values.once) {
  console.log(JSON.stringify(run(positionals[0], values.once)));
} else {
  const target = process.env.CARGO_TARGET_DIR ?? resolve(ROOT, 'target');
  compare([null, ...(positionals.length ? positionals : [`${target}/web/clearway_web.wasm`])]);
}
