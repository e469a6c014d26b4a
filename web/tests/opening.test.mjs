/** The opening: what its captions say is what the simulation does, and the page begins with it, moving or still. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { engineInNode, launch, now, open, ROOT, settled } from './browser.mjs';

const OPENING = JSON.parse(readFileSync(resolve(ROOT, 'web/src/opening.json'), 'utf8'));
const US = 1e6;
const STEP = 0.25 * US;

/** Runs one side of the opening to its end, with a look at the watched port every 0.25 us. */
function watched(transport) {
  const ask = engineInNode();
  const text = readFileSync(resolve(ROOT, `scenarios/${OPENING.scenario}.toml`), 'utf8');
  const layout = ask({ op: 'open', run: 0, name: 'opening', text, transport });
  const port = layout.ports.find((one) => one.name === OPENING.watch);
  const looks = [];
  for (let at = STEP, ended = null; ended === null; at += STEP) {
    ({ ended } = ask({ op: 'advance', run: 0, until_ps: at }));
    looks.push({ at: at / US, ...ask({ op: 'port', run: 0, port: port.id }) });
  }
  const { rows } = ask({ op: 'finished', run: 0, from: 0 });
  return { layout, port, looks, rows, summary: ask({ op: 'result', run: 0 }).summary };
}

const dctcp = watched(OPENING.left);
const expresspass = watched(OPENING.right);
const ms = (side) => Math.max(...side.rows.map((row) => row.start_ps + row.fct_ps)) / 1e9;
const dropped = ({ drops }) => drops.buffer;
const at = (side, us) => side.looks.find((look) => look.at >= us);
const most = (side, of) => Math.max(...side.looks.map(of));
const WORDS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/** A word or a number of a caption. */
const number = (text) => (WORDS.includes(text.toLowerCase()) ? WORDS.indexOf(text.toLowerCase()) : Number(text));

/**
 * What each caption states. The pattern is the whole sentence, so that a changed one has to be compared anew; its numbers go
 * to the function that compares them. `from` is the time in us from which the caption is shown.
 */
const STATED = [
  [
    /^(\w+) hosts send (\d+) KB each to (h0) at the same instant: in one network under DCTCP, in the other under ExpressPass\.$/,
    ([hosts, kb, receiver]) => {
      for (const side of [dctcp, expresspass]) {
        assert.equal(side.rows.length, number(hosts));
        assert.equal(new Set(side.rows.map((row) => row.source)).size, number(hosts));
        for (const row of side.rows) {
          assert.equal(row.size_bytes, Number(kb) * 1e3);
          assert.equal(row.start_ps, 0);
          assert.equal(side.layout.nodes[row.destination].name, receiver);
        }
      }
      assert.deepEqual([dctcp.layout.transports, expresspass.layout.transports], [['dctcp'], ['expresspass']]);
    },
  ],
  [
    /^Under DCTCP each host sends (\w+) packets at once, and all of them must leave the switch by the one link to h0\.$/,
    ([packets], from) => {
      // A host's link takes 1.23 us for a frame of 1,538 bytes, and the first acknowledgement comes after 10 us.
      const ask = engineInNode();
      const text = readFileSync(resolve(ROOT, `scenarios/${OPENING.scenario}.toml`), 'utf8');
      const { ports, nodes } = ask({ op: 'open', run: 0, name: 'opening', text, transport: 'dctcp' });
      assert.match(ask({ op: 'resolved', run: 0 }).text, new RegExp(`^initial_window = ${number(packets)}$`, 'm'));
      ask({ op: 'advance', run: 0, until_ps: 20 * US });
      const senders = ports.filter((port) => nodes[port.from].kind === 'host' && nodes[port.from].name !== 'h0');
      for (const port of senders) {
        const { counters } = ask({ op: 'port', run: 0, port: port.id });
        assert.ok(counters.sent_packets >= number(packets), `${port.name} sent ${counters.sent_packets}`);
      }
      assert.equal(ports.filter((port) => nodes[port.to].name === 'h0').length, 1);
      assert.ok(at(dctcp, from).queue_bytes > 0, 'they meet in the queue');
    },
  ],
  [
    /^They fill the buffer of (\d+) KB\. The switch drops what no longer fits, which shows as crosses: (\d+) packets in all\.$/,
    ([kb, packets], from, until) => {
      const buffer = Number(kb) * 1e3;
      assert.equal(dctcp.port.buffer_bytes, buffer);
      assert.ok(most(dctcp, (look) => look.queue_bytes) > buffer - 1538, 'not one frame more would fit');
      assert.ok(dropped(at(dctcp, from)) > 0 && dropped(at(dctcp, from - 1)) === 0, 'it begins with the first drop');
      assert.equal(dropped(at(dctcp, until)), Number(packets), 'all are dropped while it is shown, or a moment later');
      assert.equal(dctcp.summary.packets['dropped, buffer'], Number(packets));
    },
  ],
  [
    /^Under ExpressPass a host sends (one) packet for each credit that h0 sends it\. No more than (one) packet waits, and none is dropped\.$/,
    ([each, waiting]) => {
      const { credits, packets } = expresspass.summary;
      const data = expresspass.looks.at(-1).counters.sent_data_bytes;
      assert.equal(credits.used * number(each), Math.ceil(64e3 / 1460) * 8, 'a credit for each packet of data');
      assert.equal(data, 8 * 64e3);
      assert.equal(most(expresspass, (look) => look.queued.filter(({ kind }) => kind === 'data').length), number(waiting));
      assert.equal(packets['dropped, buffer'], 0);
    },
  ],
  [
    /^The switch marks DCTCP's packets, so its hosts slow down and the queue shrinks, but packets go on waiting in it\.$/,
    (_, from, until) => {
      const shown = dctcp.looks.filter((look) => look.at >= from && look.at <= until - 10);
      assert.ok(dctcp.looks.at(-1).counters.marks > 0);
      assert.ok(shown.every((look) => look.queue_bytes < 0.5 * 100e3 && look.queue_bytes > 0), 'the queue is short, and never empty');
    },
  ],
  [
    /^What credits cost is time: DCTCP's last answer was there after ([\d.]+) ms, that of ExpressPass takes ([\d.]+) ms, since hosts wait for credits and not every credit is used\.$/,
    ([theirs, ours], from) => {
      assert.equal(ms(dctcp).toFixed(2), theirs);
      assert.equal(ms(expresspass).toFixed(2), ours);
      assert.ok(from >= Number((1000 * ms(dctcp)).toFixed(0)), 'the answer is there when the caption says so');
      assert.ok(expresspass.summary.credits.wasted > 0);
      assert.ok(expresspass.looks.find((look) => look.counters.sent_data_bytes > 0).at > 10, 'data waits for the first credit');
      assert.ok(dctcp.looks.find((look) => look.counters.sent_data_bytes > 0).at < 4);
    },
  ],
];

test('each caption of the opening says what the simulation does', () => {
  assert.equal(OPENING.captions.length, STATED.length);
  const starts = OPENING.captions.map(({ from }) => Number(/^(\d+) us$/.exec(from)[1]));
  OPENING.captions.forEach(({ text }, index) => {
    const [pattern, compare] = STATED[index];
    const found = pattern.exec(text);
    assert.ok(found, `nothing compares this caption with the simulation: ${text}`);
    compare(found.slice(1), starts[index], starts[index + 1] ?? Number.POSITIVE_INFINITY);
  });
});

test('the opening takes about twenty seconds, and each caption is shown for two at least', () => {
  const starts = OPENING.captions.map(({ from }) => Number.parseFloat(from));
  const ends = [...starts.slice(1), expresspass.summary.end_ps / US];
  const seconds = OPENING.captions.map(({ speed }, index) => (ends[index] - starts[index]) / Number.parseFloat(speed));
  const total = seconds.reduce((sum, one) => sum + one, 0);
  assert.ok(total > 17 && total < 23, `${total.toFixed(1)} s`);
  assert.ok(Math.min(...seconds) >= 2, seconds.map((one) => one.toFixed(1)).join(', '));
});

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const button = (page, name) => page.getByRole('region', { name: 'Opening' }).getByRole('button', { name, exact: true });
const caption = (page) => page.locator('.caption').textContent();
const text = (index) => OPENING.captions[index].text;

test('the page opens moving, its captions follow the simulated time, and the gallery is offered at the end', async () => {
  const page = await open(browser);
  await page.waitForFunction(() => window.clearway.player.now > 1e6);
  assert.equal(await page.evaluate(() => location.hash), '', 'whoever loads the page again sees the opening again');
  assert.equal(await page.locator('.sliders').isVisible(), false);
  await button(page, 'Pause').click();
  // A step that the engine was asked for before the click ends first.
  await settled(page);
  const paused = await now(page);
  await page.waitForTimeout(120);
  assert.equal(await now(page), paused);
  const begun = OPENING.captions.filter(({ from }) => Number.parseFloat(from) * US <= paused).length;
  await page.waitForFunction((words) => document.querySelector('.caption').textContent === words, text(begun - 1));
  for (const [us, index] of [[5.9, 0], [6, 1], [14.9, 1], [15, 2], [91, 3], [439, 4], [440, 5]]) {
    await page.evaluate((at) => window.clearway.player.seek(at), us * US);
    await page.waitForFunction((words) => document.querySelector('.caption').textContent === words, text(index));
  }
  await button(page, 'Play').click();
  await page.waitForFunction(() => window.clearway.player.speed === 30, null, { timeout: 10_000 });
  await button(page, 'Open the gallery').waitFor({ timeout: 30_000 });
  assert.equal(await caption(page), text(5));
  assert.ok(await page.locator('.sliders').isVisible());
  await button(page, 'Again').click();
  await page.waitForFunction(() => window.clearway.player.playing && window.clearway.player.now < 30e6);
  assert.equal(await page.evaluate(() => window.clearway.player.speed), 2);
  await page.evaluate(() => window.clearway.player.seek(1e12));
  await button(page, 'Open the gallery').click();
  await page.locator('dialog.gallery[open]').waitFor();
  assert.deepEqual(page.errors, []);
  await page.close();
});

test('a reader can skip the opening, and a speed of the reader stays', async () => {
  const page = await open(browser);
  await page.keyboard.press('-');
  await page.evaluate(() => window.clearway.player.seek(7e6));
  await page.keyboard.press('Space');
  await page.waitForFunction(() => window.clearway.player.playing);
  await page.waitForTimeout(100);
  assert.equal(await page.evaluate(() => window.clearway.player.speed), 2 / 1.5, 'the caption asks for 3 us a second');
  await button(page, 'Skip').click();
  assert.equal(await page.evaluate(() => window.clearway.player.playing), false);
  await button(page, 'Close').click();
  assert.equal(await page.locator('.captions').isVisible(), false);
  await page.waitForFunction(() => location.hash.includes('scenario=lessons%2Fincast'));
  await page.close();
});

test('a link with state opens that state and not the opening', async () => {
  const page = await open(browser, '#scenario=dumbbell&left=dctcp&right=none&t=20us');
  await settled(page);
  assert.equal(await now(page), 20e6);
  assert.equal(await page.locator('.captions').isVisible(), false);
  await page.close();
});

test('another transport ends the opening, whose captions would be wrong', async () => {
  const page = await open(browser);
  await page.getByLabel('Transport on the left').selectOption('cubic');
  await page.waitForFunction(() => window.clearway.sides[0]?.layout.transports[0] === 'cubic');
  assert.equal(await page.locator('.captions').isVisible(), false);
  await page.close();
});

test('where the system asks for little motion the page opens still, with all captions to read', async () => {
  const page = await open(browser, '', { reducedMotion: 'reduce' });
  await page.waitForTimeout(300);
  assert.equal(await now(page), 0);
  assert.deepEqual(await page.locator('.moments li span').allTextContents(), OPENING.captions.map((one) => one.text));
  assert.deepEqual(await page.locator('.moments button').allTextContents(), OPENING.captions.map((one) => one.from));
  await page.getByRole('button', { name: 'Show 15 us' }).click();
  await page.waitForFunction(() => window.clearway.player.now === 15e6);
  await settled(page);
  assert.equal(await page.locator('.moments [aria-current] span').textContent(), text(2));
  await page.close();
});
