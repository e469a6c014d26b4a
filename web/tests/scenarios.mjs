/** The scenarios that the tests of hashes run, natively and as WebAssembly. */

import { readFileSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { ROOT } from './browser.mjs';

/** The simulated times at which long scenarios are stopped. */
const STOPS = {
  'fig01-partition-aggregate': '10 ms',
  permutation: '1 ms',
  'rdma-mix': '2 ms',
  shuffle: '3 ms',
  websearch: '3 ms',
};

/** All scenarios of a folder. */
function inFolder(folder) {
  const names = readdirSync(resolve(ROOT, folder)).filter((name) => name.endsWith('.toml'));
  return names.sort().map((name) => ({ folder, name: name.slice(0, -'.toml'.length) }));
}

/** The texts of networks that scenarios name, by the names that they and the lessons use. */
export const FILES = Object.fromEntries(
  inFolder('scenarios/networks').flatMap(({ folder, name }) => {
    const text = readFileSync(resolve(ROOT, folder, `${name}.toml`), 'utf8');
    return ['networks', '../networks'].map((from) => [`${from}/${name}.toml`, text]);
  }),
);

/** The transports that count on trimming and choose paths by entropy, under each of which the scenario of pulls is run. */
const PULLING = ['ndp', 'eqds', 'uec-nscc', 'uec-rccc', 'uec'];

/** Every shipped scenario, those of the lessons included, as a request to open it. */
export const SHIPPED = [...inFolder('scenarios'), ...inFolder('scenarios/lessons')].map(({ folder, name }) => {
  const path = resolve(ROOT, folder, `${name}.toml`);
  const set = STOPS[name] ? [['stop', `"${STOPS[name]}"`]] : [];
  return { name, path, text: readFileSync(path, 'utf8'), transport: null, set };
});

/** The runs: every shipped scenario under its own transport, and those that trim under each that counts on it. */
export const RUNS = [
  ...SHIPPED,
  ...SHIPPED.filter(({ name }) => name === 'pulls').flatMap((run) => PULLING.map((transport) => ({ ...run, transport }))),
];

/** The transports that the comment of a scenario compares, as the page reads them; one `null` where it names none. */
export function comparedBy(text) {
  const all = /^#.*--transports\s+([\w,-]+)/m.exec(text);
  return all ? all[1].split(',').slice(0, 2) : [null];
}

/**
 * Runs a scenario in steps of random sizes, in simulated time and in events, takes frames in between, and returns its
 * hash. `ask` sends a request and waits for its answer. It is handed to Chromium as text, so it uses nothing outside.
 */
export async function hashInSteps(ask, { name, text, transport, set }, seed, run = 0) {
  let state = seed;
  const random = () => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let word = Math.imul(state ^ (state >>> 15), 1 | state);
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
    return ((word ^ (word >>> 14)) >>> 0) / 4294967296;
  };
  const opened = await ask({ op: 'open', run, name, text, transport, set });
  if (opened.error) {
    throw new Error(opened.error);
  }
  let now = 0;
  for (let step = 0; ; step++) {
    // From 100 ns to 1 ms, and from a few events to a million.
    now += Math.round(10 ** (5 + 4 * random()));
    const events = Math.round(10 ** (1 + 5 * random()));
    const progress = await ask({ op: 'advance', run, until_ps: now, events });
    now = Math.max(now, progress.now_ps);
    if (step % 5 === 0) {
      await ask({ op: 'frame', run });
    }
    if (progress.ended) {
      const result = await ask({ op: 'result', run });
      return result.hash ?? result.error;
    }
  }
}
