/**
 * Every shipped scenario has one hash: run natively without a look, and in Node and (a part of them) in Chromium in steps of
 * random sizes with frames in between.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { runnerImport } from 'vite';
import { ROOT, launch, open } from './browser.mjs';
import { FILES, RUNS, hashInSteps } from './scenarios.mjs';

const TARGET = process.env.CARGO_TARGET_DIR ?? resolve(ROOT, 'target');
const ENGINE = process.env.CLEARWAY_ENGINE ?? `${TARGET}/web/clearway_web.wasm`;
/** The seed of the sizes of steps; another one with CLEARWAY_SEED. */
const SEED = Number(process.env.CLEARWAY_SEED ?? 13);

/** The hashes of native runs, in a process of their own beside the tests. */
function native() {
  const python = spawn(resolve(ROOT, '.venv/bin/python'), [resolve(ROOT, 'web/tests/native.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  python.stdin.end(JSON.stringify(RUNS.map(({ path, transport, set }) => ({ path, transport, set }))));
  return new Promise((done, fail) => {
    let out = '';
    python.stdout.on('data', (part) => (out += part));
    python.on('error', fail);
    python.on('close', () => (out ? done(JSON.parse(out)) : fail(new Error('web/tests/native.py gave no hashes'))));
  });
}

/** The files of scenarios, with the transport where a run has another, and their hashes. */
const named = (runs, hashes) => Object.fromEntries(runs.map(({ path, transport }, index) => [[path, transport].join(' '), hashes[index]]));

const expected = native();

/** The runs in Chromium, whose engine of WebAssembly is that of Node: each fourth, or with FULL=1 all. */
const INSIDE = RUNS.map((run, index) => ({ run, index })).filter(({ index }) => process.env.FULL || index % 4 === 0);

test('hashes in Node are those of native runs', async () => {
  const { module } = await runnerImport(resolve(ROOT, 'web/src/engine/wasm.ts'));
  const engine = new module.WasmEngine(new WebAssembly.Module(readFileSync(ENGINE)));
  const ask = (request) => {
    const answer = engine.handle(JSON.stringify(request));
    return typeof answer === 'string' ? JSON.parse(answer) : answer;
  };
  ask({ op: 'files', files: FILES });
  const hashes = [];
  for (const [index, run] of RUNS.entries()) {
    hashes.push(await hashInSteps(ask, run, SEED + index));
  }
  assert.deepEqual(named(RUNS, hashes), named(RUNS, await expected));
});

test('hashes in Chromium are those of native runs', async () => {
  const browser = await launch();
  try {
    const page = await open(browser);
    const hashes = await page.evaluate(
      async ({ runs, files, seed, source }) => {
        const steps = new Function(`return ${source}`)();
        const { engine } = window.clearway;
        const ask = (request) => (request.op === 'frame' ? engine.frame(request.run) : engine.call(request));
        await ask({ op: 'files', files });
        const all = [];
        for (const { run, index } of runs) {
          all.push(await steps(ask, run, seed + index, 50));
        }
        await engine.call({ op: 'close', run: 50 });
        return all;
      },
      { runs: INSIDE, files: FILES, seed: SEED + 1000, source: hashInSteps.toString() },
    );
    const all = await expected;
    const runs = INSIDE.map(({ run }) => run);
    assert.deepEqual(named(runs, hashes), named(runs, INSIDE.map(({ index }) => all[index])));
    assert.deepEqual(page.errors, []);
  } finally {
    await browser.close();
  }
});
