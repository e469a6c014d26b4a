/** Both sides show the same instant, whatever brought them there: each way through time, and each slider. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { engineInNode, launch, open, settled } from './browser.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** What both sides show: the instant, and events and queues as a check that no side is elsewhere. */
const shown = (page) =>
  page.evaluate(() => {
    const { player, sides } = window.clearway;
    return { now: player.now, sides: sides.map((side) => [side.frame.nowPs, side.frame.events, side.counters().queued]) };
  });

/** The same of runs in Node that go straight to an instant. */
async function straight(page, instant) {
  const orders = await page.evaluate(() => window.clearway.sides.map(({ order }) => order));
  return orders.map((order) => {
    const ask = engineInNode();
    const { ports } = ask({ op: 'open', run: 0, ...order });
    const { events } = ask({ op: 'advance', run: 0, until_ps: instant });
    return [instant, events, ports.reduce((sum, { id }) => sum + ask({ op: 'port', run: 0, port: id }).queue_bytes, 0)];
  });
}

test('after every way through time and every slider both sides show what runs that go straight there show', async () => {
  const page = await open(browser, '#scenario=incast&left=dctcp&right=expresspass&speed=50');
  const seek = (us) => page.evaluate((at) => window.clearway.player.seek(at), us * 1e6);
  const write = async (text) => {
    const field = page.getByLabel('Simulated time', { exact: true });
    await field.fill(text);
    await field.press('Enter');
  };
  const slide = (name, index) => page.getByRole('slider', { name, exact: true }).fill(String(index));
  const ways = {
    'a seek ahead': () => seek(120),
    'a seek back': () => seek(35.5),
    'a written time': () => write('1.5 ms'),
    'the line of time': () => page.getByLabel('Line of time').fill('12'),
    'a step': () => page.keyboard.press('ArrowRight'),
    'an event': () => page.keyboard.press('Shift+ArrowRight'),
    'back': () => page.keyboard.press('ArrowLeft'),
    'playing and a pause': async () => {
      await page.keyboard.press('Space');
      await page.waitForTimeout(300);
      await page.keyboard.press('Space');
    },
    'senders': () => slide('Senders', 4),
    'a seek after a slider': () => seek(61),
    'buffer': () => slide('Buffer', 3),
    'threshold': () => slide('ECN threshold K', 4),
    'rate': () => slide('Link rate', 5),
    'another transport at once': async () => {
      await page.getByLabel('Transport on the right').selectOption('hpcc');
      await page.waitForFunction(() => window.clearway.sides[1]?.layout.transports[0] === 'hpcc');
      await seek(44);
    },
  };
  for (const [name, go] of Object.entries(ways)) {
    await go();
    await page.waitForTimeout(60);
    await page.waitForFunction(() => window.clearway.sides.every((side) => side !== null) && !document.querySelector('.seek:not([hidden])'));
    await settled(page);
    const { now, sides } = await shown(page);
    assert.ok(now > 0, name);
    assert.deepEqual(sides, await straight(page, now), name);
  }
  assert.deepEqual(page.errors, []);
  await page.close();
});
