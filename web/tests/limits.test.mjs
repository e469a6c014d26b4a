/** What is too large for the page: it is refused, asked about or stopped, and the page answers meanwhile. */

import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { runnerImport } from 'vite';
import { launch, now, open, openAlone, ROOT, settled } from './browser.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const source = async (path) => (await runnerImport(resolve(ROOT, 'web/src', path))).module;
const link = (text, more = '') =>
  `#scenario=incast&left=own&right=none${more}&text=${deflateRawSync(Buffer.from(text)).toString('base64url')}`;
const tree = (k) => `transport = "dctcp"\n[topology]\nkind = "fat-tree"\nk = ${k}\n[[traffic]]\nkind = "incast"\nsenders = 4\n`;
const notice = (page) => page.locator('.notice:not([hidden])');
const pane = (page) => page.locator('.pane:not([hidden])').first().locator('.note');

/** Pastes a text over that of the editor, as a browser does from the clipboard. */
const paste = (page, text) =>
  page.evaluate((text) => {
    const area = document.querySelector('textarea');
    area.select();
    const data = new DataTransfer();
    data.setData('text/plain', text);
    area.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  }, text);

/** Draws a frame of the page, and returns the memory in bytes that its scripts hold. */
async function answered(page) {
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => resolve())));
  const session = await page.context().newCDPSession(page);
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}

test('a link whose text unpacks to more than the page takes shows one line and the scenario without it', async () => {
  const page = await openAlone(browser, link('#'.repeat(100e6)));
  assert.equal(
    await notice(page).locator('p').first().textContent(),
    'The changed scenario of this link is not shown: it unpacks to more than 1 MB, the most that this page takes. The scenario is shown without its changes.',
  );
  assert.ok((await answered(page)) < 60e6, 'nearly nothing of the 100 MB was unpacked');
  assert.equal(await page.evaluate(() => window.clearway.view.text), null);
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() => window.clearway.player.now === 1e6);
  await page.getByRole('button', { name: 'Close' }).click();
  assert.equal(await notice(page).count(), 0);
  assert.deepEqual(page.errors, []);
  await page.close();
});

test('a link of many lines, and one that was cut off, say so', async () => {
  const lines = await open(browser, link('\n'.repeat(500_000)));
  assert.match(await notice(lines).textContent(), /not shown: the scenario has 500,001 lines; this page takes at most 20,000\./);
  await lines.close();
  const cut = await open(browser, link(tree(4)).slice(0, -9));
  assert.match(await notice(cut).textContent(), /not shown: it was cut off or changed on its way\./);
  await cut.close();
});

test('a link with a fat tree of k = 64 is refused by its key before the network is built', async () => {
  const page = await openAlone(browser, link(tree(64)));
  assert.equal(
    await pane(page).textContent(),
    'incast:4: topology.k = 64: these are 65536 hosts and 196608 links, too many here; at most 30000 links fit',
  );
  assert.match(await page.locator('.error').textContent(), /^Line 4: topology\.k = 64: /);
  assert.ok((await answered(page)) < 60e6, 'no layout came to the page');
  assert.deepEqual(page.errors, []);
  await page.close();
});

test('what needs much is simulated only after the reader agrees', async () => {
  const page = await open(browser, link(tree(20)));
  assert.match(
    await notice(page).textContent(),
    /^This scenario has 2,000 hosts, 6,000 links and 4 flows\. It needs about \d+ MB of memory and [\d.]+ ms of processor time to its end\. Simulate it\?/,
  );
  assert.deepEqual(await page.evaluate(() => window.clearway.sides), [null, null]);
  for (const key of ['Space', 'ArrowRight', 'ArrowLeft', 'Home']) await page.keyboard.press(key);
  assert.equal(await now(page), 0, 'nothing plays where nothing was opened');
  await answered(page);
  await page.getByRole('button', { name: 'Simulate it' }).click();
  await page.waitForFunction(() => window.clearway.sides[0]?.layout.nodes.length === 2500, null, { timeout: 20_000 });
  // The question goes with the next picture after the network has come.
  await notice(page).waitFor({ state: 'detached', timeout: 20_000 });
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() => window.clearway.player.now === 1e6);
  assert.deepEqual(page.errors, []);
  await page.close();
});

test('a link to the end of a huge scenario asks first, and on its way it can be stopped', async () => {
  const flows = 'transport = "dctcp"\n[topology]\nkind = "fat-tree"\nk = 8\n[[traffic]]\nkind = "poisson"\nworkload = "web-search"\nload = 0.5\nflows = 70000\n';
  const page = await open(browser, link(flows, '&t=end'));
  assert.match(await notice(page).textContent(), /^This scenario has 128 hosts, 384 links and 70,000 flows\. .* of processor time to get to the time of the link\. Simulate it\?/);
  assert.deepEqual(await page.evaluate(() => window.clearway.sides), [null, null]);
  await page.getByRole('button', { name: 'Simulate it' }).click();
  const way = page.getByRole('group', { name: 'On the way to another time' });
  await way.getByRole('button', { name: 'Cancel' }).click({ timeout: 20_000 });
  await page.waitForFunction(() => !window.clearway.player.working && window.clearway.player.seeking === null);
  const [at, ended] = await page.evaluate(() => [window.clearway.player.now, window.clearway.player.ended]);
  assert.equal(ended, false);
  await page.waitForTimeout(200);
  assert.equal(await now(page), at, 'nothing goes on');
  assert.deepEqual(page.errors, []);
  await page.close();
});

test('a long list of traffic entries is refused with what fits', async () => {
  const entry = '[[traffic]]\nkind = "incast"\nsenders = 4\n';
  const page = await open(browser, link(tree(4) + entry.repeat(1000)));
  assert.equal(await pane(page).textContent(), 'traffic: these are 1,001 entries; this page takes at most 1,000');
  await page.close();
});

test('an engine that works long can be stopped, and the run begins anew', async () => {
  const page = await open(browser, '#scenario=websearch&left=dctcp&right=none');
  await page.evaluate(() => {
    void window.clearway.engine.call({ op: 'advance', run: 0, events: 4e9 }).catch((error) => (window.ended = error.message));
  });
  await page.keyboard.press('ArrowRight');
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.waitForFunction(() => window.ended === 'The run was stopped before the engine had answered.');
  await page.getByRole('button', { name: 'Start again' }).first().click();
  await page.waitForFunction(() => document.querySelectorAll('.note.alarm:not([hidden])').length === 0);
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() => window.clearway.player.now === 1e6);
  await settled(page);
  assert.equal(await now(page), 1e6);
  await page.close();
});

test('the number of a wrong line stands beside it far down in a long text', async () => {
  const page = await open(browser, '#scenario=dumbbell&left=dctcp&right=none');
  await page.keyboard.press('e');
  await paste(page, `${'#\n'.repeat(15_000)}wrong = 1\n`);
  await page.waitForFunction(() => document.querySelector('.error').textContent.startsWith('Line 15001: '));
  await page.locator('.error').click();
  await page.locator('.numbers .wrong').waitFor();
  assert.equal(await page.locator('.numbers .wrong').textContent(), '15001');
  assert.ok((await page.locator('.numbers div').count()) < 100, 'only the lines in sight have numbers');
  const [number, band] = await page.evaluate(() =>
    ['.numbers .wrong', '.band'].map((one) => Math.round(document.querySelector(one).getBoundingClientRect().top)),
  );
  assert.equal(number, band, 'the number and the band are at one line');
  await paste(page, '#\n'.repeat(20_001));
  await page.waitForFunction(() => /has 20,002 lines; this page takes at most 20,000/.test(document.querySelector('.error').textContent));
  assert.equal(await page.evaluate(() => document.querySelector('textarea').value.length), 30_010, 'the text before is still there');
  await page.close();
});

test('texts, files and entries are refused just above what the page takes', async () => {
  const { MOST, filesProblem, needsProblem, textProblem } = await source('limits.ts');
  assert.equal(textProblem('#'.repeat(MOST.text)), null);
  assert.match(textProblem('#'.repeat(MOST.text + 1)), /1,000,001 characters; this page takes at most 1,000,000$/);
  assert.equal(filesProblem({ 'a.csv': 'x'.repeat(MOST.files / 2), b: { base64: 'x'.repeat(MOST.files / 2) } }), null);
  assert.match(filesProblem({ a: 'x'.repeat(MOST.files + 1) }), /48 MB; this page takes at most 48 MB$/);
  assert.equal(needsProblem({ entries: MOST.entries }), null);
});

test('each need alone is asked about, and a shipped scenario is not', async () => {
  const { ASK, question } = await source('limits.ts');
  const small = { hosts: 192, links: 320, flows: 20_000, bytes: 7e6, cpu_s: 22.4, simulated_s: 0.78 };
  assert.equal(question([small, small], 0), null);
  assert.equal(question([small, small], 0.78e12), null);
  for (const much of [{ links: ASK.links + 1 }, { flows: ASK.flows + 1 }, { bytes: ASK.bytes }]) {
    assert.match(question([small, { ...small, ...much }], 0), /needs about \d+ MB of memory and 45 s of processor time to its end\.$/);
  }
  assert.match(question([{ ...small, cpu_s: 100 }], 0.39e12), /and 100 s of processor time to get to the time of the link\.$/);
});

/** A side whose engine handles so few events at once that it goes on by so many ps, or not at all. */
class SlowSide {
  ended = null;
  end = null;
  layout = { stop_ps: null };
  simulated = 0;
  shown = 0;
  asked = 0;

  constructor(step) {
    this.step = step;
  }

  isAt(instant) {
    return this.simulated >= instant;
  }

  async advance({ until_ps }) {
    this.asked += 1;
    await new Promise((resolve) => setTimeout(resolve, 1));
    this.simulated = Math.min(until_ps, this.simulated + this.step);
  }

  show() {
    this.shown = this.simulated;
  }

  async look() {
    this.show();
  }
}

test('an instant behind many events is reached in several answers, and no other is shown before', async () => {
  const { Player } = await source('run/player.ts');
  const [slow, fast] = [new SlowSide(300_000), new SlowSide(1e12)];
  const shown = new Set();
  const player = new Player({ changed: () => shown.add(`${player.now} ${slow.shown} ${fast.shown}`), failed: assert.fail });
  player.take([slow, fast]);
  await player.step('time');
  assert.deepEqual([slow.asked, fast.asked], [4, 1]);
  assert.deepEqual([...shown], ['0 0 0', '1000000 1000000 1000000']);
});

test('a way that is cancelled ends where both sides stand', async () => {
  const { Player } = await source('run/player.ts');
  const [slow, fast] = [new SlowSide(30_000), new SlowSide(1e12)];
  const player = new Player({ changed() {}, failed: assert.fail });
  player.take([slow, fast]);
  const way = player.seek(1e12);
  while (slow.asked < 50) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.equal(player.seeking.target, 1e12);
  player.cancel();
  assert.equal(player.seeking, null);
  await way;
  assert.ok(player.now > 0 && player.now < 1e12, `it ended at ${player.now} ps`);
  assert.deepEqual([slow.shown, fast.shown], [player.now, player.now]);
});

test('a run whose time stands still can be paused', async () => {
  const { Player } = await source('run/player.ts');
  const player = new Player({ changed() {}, failed: assert.fail });
  const [still, fast] = [new SlowSide(0), new SlowSide(1e12)];
  player.take([still, fast]);
  const step = player.step('time');
  while (still.asked < 5) await new Promise((resolve) => setTimeout(resolve, 1));
  player.pause();
  await step;
  assert.deepEqual([player.now, fast.shown], [0, 0], 'the page shows no time that the run has not reached');
  assert.equal(player.working, false);
});
