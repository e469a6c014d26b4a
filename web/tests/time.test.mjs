/** Time on the page: long ways, the line of time and its end, times as text, links to the end, and percentiles at the end. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { runnerImport } from 'vite';
import { launch, now, open, ROOT, settled } from './browser.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const source = async (path) => (await runnerImport(resolve(ROOT, 'web/src', path))).module;
const time = (page) => page.getByLabel('Simulated time', { exact: true });
const ending = (page) => page.locator('.lines .end');
const refusal = (page) => page.locator('.refusal:not([hidden])');
const hash = (page, run) => page.locator(`code[data-hash="${run}"]`);

/** Writes a time into its field and goes there. */
async function go(page, text) {
  await time(page).fill(text);
  await page.keyboard.press('Enter');
}

/** Notes at each picture which instant the page shows, and where its sides stand that have not ended. */
const watch = (page) =>
  page.evaluate(() => {
    const app = window.clearway;
    window.seen = [];
    const note = () => {
      window.seen.push([app.player.now, ...app.sides.filter((side) => side.ended === null).map((side) => side.frame.nowPs)]);
      requestAnimationFrame(note);
    };
    note();
  });
const seen = (page) => page.evaluate(() => window.seen);

test('a long way shows only instants at which both sides stand, says how far it is, and can be cancelled', async () => {
  const page = await open(browser, '#scenario=websearch&left=expresspass&right=dctcp');
  for (const cancel of [() => page.keyboard.press('Escape'), () => page.getByRole('button', { name: 'Cancel' }).click()]) {
    const from = await now(page);
    await watch(page);
    await go(page, '315 ms');
    await page.locator('.seek:not([hidden])').waitFor();
    assert.match(await page.locator('.way').textContent(), /^to 315 ms, \d+ %$/);
    await page.waitForFunction((from) => window.clearway.player.now > from + 1e9, from);
    await cancel();
    assert.equal(await page.evaluate(() => window.clearway.player.seeking), null);
    await settled(page);
    const at = await now(page);
    assert.ok(from < at && at < 315e9, `it was cancelled at ${at / 1e9} ms`);
    const instants = await seen(page);
    assert.ok(instants.length > 10, 'the page draws meanwhile');
    for (const [shown, ...sides] of instants) assert.deepEqual(sides, [shown, shown]);
    await page.locator('.seek').waitFor({ state: 'hidden' });
    assert.equal(Number((await time(page).inputValue()).replace(/,| us/g, '')), Number((at / 1e6).toFixed(3)));
  }
  assert.deepEqual(page.errors, []);
  await page.close();
});

test('a time behind more events than one answer handles is reached by both sides', async () => {
  const page = await open(browser, '#scenario=websearch&left=expresspass&right=dctcp');
  await watch(page);
  await go(page, '12.5 ms');
  await page.waitForFunction(() => window.clearway.player.now === 12.5e9, null, { timeout: 60_000 });
  await settled(page);
  for (const [shown, ...sides] of await seen(page)) assert.deepEqual(sides, [shown, shown]);
  const events = await page.evaluate(() => window.clearway.sides.map((side) => side.progress.events));
  assert.ok(Math.min(...events) > 1 << 18, `so few events would be no test: ${events}`);
  assert.equal(await time(page).inputValue(), '12,500.000 us');
  await page.close();
});

test('the line of time has the end of a run without stop, before and after it was reached', async () => {
  const page = await open(browser, '#scenario=incast&left=dctcp&right=expresspass');
  await page.waitForFunction(() => window.clearway.player.end !== null);
  const end = await page.evaluate(() => window.clearway.player.end);
  assert.equal(await now(page), 0, 'the end is found ahead of what is shown');
  await page.waitForFunction(() => /^[\d.]+ ms$/.test(document.querySelector('.lines .end').textContent));
  const line = page.getByLabel('Line of time');
  await line.fill('500');
  await page.waitForFunction((end) => window.clearway.player.now === Math.round(end / 2), end);
  await line.fill('1000');
  await hash(page, 0).waitFor();
  assert.equal(await now(page), end);
  await settled(page);
  await watch(page);
  await page.keyboard.press('Home');
  await page.waitForFunction(() => window.clearway.player.now === 0);
  await settled(page);
  for (const [shown, ...sides] of await seen(page)) for (const side of sides) assert.equal(side, shown);
  assert.equal(await page.evaluate(() => window.clearway.player.horizon), end, 'the way back does not forget the end');
  assert.equal(await line.inputValue(), '0');
  await page.close();
});

test('the line of a run whose end takes long to find begins with an estimate and grows', async () => {
  const page = await open(browser, '#scenario=websearch&left=dctcp&right=none');
  // The estimate comes with an answer of the engine.
  await page.waitForFunction(() => document.querySelector('.lines .end').textContent !== '', null, { timeout: 20_000 });
  assert.equal(await ending(page).textContent(), '1 s …');
  assert.equal(await page.evaluate(() => window.clearway.player.end), null);
  await page.getByLabel('Line of time').fill('2');
  await page.waitForFunction(() => window.clearway.player.now === 2e9, null, { timeout: 20_000 });
  await page.close();
  const { Player } = await source('run/player.ts');
  const player = new Player({ changed() {}, failed: assert.fail });
  const side = { end: null, ended: null, layout: { stop_ps: null } };
  player.take([side], 0.78e12);
  assert.equal(player.horizon, 1e12);
  player.now = 0.95e12;
  assert.equal(player.horizon, 2e12, 'there is room to go on');
  side.end = 1.03e12;
  assert.equal(player.horizon, 1.03e12);
});

test('a run that takes much is not simulated ahead', async () => {
  const { isWithin } = await source('run/scout.ts');
  assert.ok(isWithin({ bytes: 7e6, cpu_s: 2.7 }));
  assert.ok(!isWithin({ bytes: 7e6, cpu_s: 22.4 }));
  assert.ok(!isWithin({ bytes: 200e6, cpu_s: 1 }));
});

test('a link made at the end opens at the end with the hashes', async () => {
  const page = await open(browser, '#scenario=incast-trace&left=dctcp&right=expresspass');
  await go(page, 'end');
  await page.waitForFunction(() => location.hash.includes('t=end'));
  const hashes = [await hash(page, 0).textContent(), await hash(page, 1).textContent()];
  const end = await now(page);
  const again = await open(browser, await page.evaluate(() => location.hash));
  await hash(again, 0).waitFor();
  assert.deepEqual([await hash(again, 0).textContent(), await hash(again, 1).textContent()], hashes);
  assert.equal(await now(again), end);
  await again.close();
  const number = await open(browser, `#scenario=incast-trace&left=dctcp&right=expresspass&t=${end}ps`);
  await hash(number, 0).waitFor();
  assert.deepEqual([await hash(number, 0).textContent(), await hash(number, 1).textContent()], hashes, 'a time that is the end is the end');
  await number.close();
  await page.close();
});

test('a time can be written, and nonsense is answered with one line', async () => {
  const page = await open(browser, '#scenario=dumbbell&left=dctcp&right=expresspass');
  await go(page, '12.5 ms');
  await page.waitForFunction(() => window.clearway.player.now === 12.5e9);
  await settled(page);
  for (const nonsense of ['soon', '12.5', '-3 us', '']) {
    await go(page, nonsense);
    assert.equal(await refusal(page).textContent(), `“${nonsense}” is no time. Write a number with a unit, such as 12.5 ms, or end.`);
    assert.equal(await time(page).getAttribute('aria-invalid'), 'true');
    assert.equal(await now(page), 12.5e9);
  }
  await page.keyboard.press('Escape');
  assert.equal(await refusal(page).count(), 0);
  assert.equal(await time(page).inputValue(), '12,500.000 us');
  await time(page).press('e');
  assert.ok(await page.locator('.editor').isHidden(), 'a letter in the field is no key of the page');
  await go(page, '1,250 us');
  await page.waitForFunction(() => window.clearway.player.now === 1.25e9);
  await go(page, '5 s');
  await hash(page, 0).waitFor();
  assert.equal(await now(page), 15e9, 'a time behind the end is the end');
  await page.close();
});

test('what is selected in the field of the time is replaced by what is typed, though time goes on meanwhile', async () => {
  const page = await open(browser, '#scenario=dumbbell&left=dctcp&right=expresspass');
  await go(page, '1 ms');
  await page.waitForFunction(() => window.clearway.player.now === 1e9);
  await settled(page);
  await time(page).focus();
  await page.evaluate(() => window.clearway.player.seek(2e9));
  await settled(page);
  assert.equal(await time(page).inputValue(), '1,000.000 us', 'the field waits for the reader');
  await page.keyboard.type('3 ms');
  assert.equal(await time(page).inputValue(), '3 ms');
  await page.keyboard.press('Escape');
  assert.equal(await time(page).inputValue(), '2,000.000 us');
  await page.close();
});

/** The flows, percentiles and remark that `clearway compare` prints of a scenario, for all sizes of flows together. */
function compared(path, transports) {
  const script = `
import clearway, json, sys
from clearway.caveats import few_flows, of_runs
from clearway.texts import fct_texts
runs = clearway.compare(sys.argv[1], transports=sys.argv[2:]).runs
rows = fct_texts(runs)[1][-len(runs):]
print(json.dumps({"rows": [[row[2], row[3], row[4], row[5], row[7]] for row in rows], "remarks": few_flows(of_runs(runs))}))`;
  return JSON.parse(execFileSync(`${ROOT}/.venv/bin/python`, ['-c', script, path, ...transports], { cwd: ROOT, encoding: 'utf8' }));
}

/** The same as the page shows it. */
async function summarised(page, column) {
  const cells = await page.locator(`.summary tbody tr td:nth-child(${column + 2})`).allTextContents();
  return cells.slice(0, 5).map((text) => text.replace(/\s/g, ' '));
}

/** A text of a number without zeros at its end, which the page leaves out. */
const plain = (text) => text.replace(/(\.\d*?)0+(?!\d)/, '$1').replace(/\.(?!\d)/, '');

for (const [why, more] of [
  ['few flows', ''],
  ['a window of measurement', '\n[measure]\nfrom = "15 ms"\n'],
]) {
  test(`averages and percentiles at the end are those of clearway compare, with ${why}`, async () => {
    const text = readFileSync(resolve(ROOT, 'scenarios/incast.toml'), 'utf8') + more;
    const path = join(mkdtempSync(join(tmpdir(), 'clearway-time-')), 'incast.toml');
    writeFileSync(path, text);
    const { rows, remarks } = compared(path, ['dctcp', 'expresspass']);
    const packed = deflateRawSync(Buffer.from(text)).toString('base64url');
    const page = await open(browser, `#scenario=incast&left=dctcp&right=expresspass&t=end&text=${packed}`);
    await hash(page, 1).waitFor();
    for (const [index, [flows, ...times]] of rows.entries()) {
      assert.ok(Number(flows) > 0 && Number(flows) <= 640);
      const marks = ['', '', '*', '*'];
      assert.deepEqual(await summarised(page, index), [flows, ...times.map((one, at) => plain(one) + marks[at])]);
    }
    const [remark] = await page.locator('.summary p').allTextContents();
    const words = '99th percentiles of fewer than 1,000 flows rest on fewer than 10 of them';
    assert.ok(remark.startsWith(`* ${words} (`) && remarks[0].startsWith(`${words} (`), `${remark} is not ${remarks[0]}`);
    await page.close();
  });
}

test('all flows that have finished are fetched before the page rests, however many answers they need', async () => {
  const page = await open(browser, '#scenario=dumbbell&left=dctcp&right=none');
  const fetched = await page.evaluate(async () => {
    const [side] = window.clearway.sides;
    const rows = (from) => Array.from({ length: Math.min(16_384, 20_000 - from) }, () => ({}));
    side.engine = { call: async ({ from }) => ({ rows: rows(from), next: from + rows(from).length }) };
    side.progress = { ...side.progress, flows_completed: 20_000 };
    await side.collect();
    return side.measured.length;
  });
  assert.equal(fetched, 20_000);
  await page.close();
});

test('a percentile lies between the two nearest values, in proportion, as in NumPy', async () => {
  const { percentile, isFew } = await source('stats.ts');
  const values = [1, 2, 4, 8, 16];
  const script = `import numpy, sys; print([float(numpy.percentile(${JSON.stringify(values)}, p)) for p in (0, 50, 80, 99, 100)])`;
  const expected = JSON.parse(execFileSync(`${ROOT}/.venv/bin/python`, ['-c', script], { encoding: 'utf8' }));
  for (const [index, percent] of [0, 50, 80, 99, 100].entries()) {
    assert.ok(Math.abs(percentile(values, percent) - expected[index]) < 1e-12);
  }
  assert.ok(Number.isNaN(percentile([], 99)));
  assert.deepEqual([0, 1, 999, 1000].map(isFew), [false, true, true, false]);
});
