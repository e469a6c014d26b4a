/** The live page in Chromium: playback, errors, addresses, queues, flows, hashes, keys, phones, recovery. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { launch, now, open, ROOT, settled } from './browser.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const button = (page, name) => page.getByRole('button', { name, exact: true });
const INCAST = '#scenario=incast&left=dctcp&right=expresspass&t=60us';

test('the page plays, pauses, steps and goes back to where it stood', async () => {
  const page = await open(browser, '#scenario=dumbbell&left=expresspass&right=dctcp&speed=200');
  assert.equal(await now(page), 0);
  await button(page, 'Play').click();
  await page.waitForFunction(() => window.clearway.player.now > 20e6);
  await button(page, 'Pause').click();
  await settled(page);
  const paused = await now(page);
  await page.waitForTimeout(150);
  assert.equal(await now(page), paused, 'time stands still while the page is paused');
  const state = () =>
    page.evaluate(() => window.clearway.sides.map((side) => [side.frame.nowPs, side.frame.events, side.frame.packets.count]));
  const before = await state();
  assert.deepEqual(before.map(([at]) => at), [paused, paused], 'both sides show one instant');
  await button(page, 'Step by 1 us').click();
  await page.waitForFunction((at) => window.clearway.player.now === at + 1e6, paused);
  await settled(page);
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction((at) => window.clearway.player.now === at, paused);
  await settled(page);
  assert.deepEqual(await state(), before, 'the run that is simulated again is the same');
  await page.keyboard.press('Home');
  await page.waitForFunction(() => window.clearway.player.now === 0);
  assert.deepEqual(page.errors, []);
  assert.ok(page.requests.every((url) => /^(file|blob|data):/.test(url)), `requests: ${page.requests}`);
  await page.close();
});

test('a step to the next event goes on by as little as the engine does', async () => {
  const page = await open(browser, '#scenario=dumbbell&left=dctcp&right=none&t=30us');
  await page.keyboard.press('Shift+ArrowRight');
  await page.waitForFunction(() => window.clearway.player.now > 30e6);
  await settled(page);
  assert.ok((await now(page)) < 35e6, 'one event is not 5 us away');
  await page.close();
});

test('queues are drawn as long as the engine says', async () => {
  const page = await open(browser, INCAST);
  const longest = [];
  for (const at of [61e6, 80e6, 140e6]) {
    const [drawn, asked] = await page.evaluate(async (at) => {
      const app = window.clearway;
      await app.player.seek(at);
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      const drawn = {};
      const asked = {};
      for (const [index, side] of app.sides.entries()) {
        const pixelsPerByte = app.panes[index].shape.barLength / app.fullBytes;
        for (const { port, pixels } of app.panes[index].drawn) drawn[`${index}/${port}`] = Math.round(pixels / pixelsPerByte);
        for (const { id } of side.layout.ports) {
          const view = await app.engine.call({ op: 'port', run: side.run, port: id });
          if (view.queue_bytes > 0) asked[`${index}/${id}`] = view.queue_bytes;
        }
      }
      return [drawn, asked];
    }, at);
    assert.deepEqual(drawn, asked);
    longest.push(Math.max(0, ...Object.values(asked)));
  }
  assert.ok(Math.max(...longest) > 20e3, 'an incast of 64 DCTCP flows has a queue');
  await page.close();
});

test('the error of a wrong text stands at its line, and a right text runs', async () => {
  const page = await open(browser, '#scenario=dumbbell&left=dctcp&right=none');
  await page.keyboard.press('e');
  const area = page.getByLabel('Scenario in TOML');
  const text = await area.inputValue();
  const line = text.split('\n').findIndex((one) => one.startsWith('rate =')) + 1;
  await area.fill(text.replace('rate = "10 Gbps"', 'rate = "10 Gbs"'));
  await page.waitForFunction(() => document.querySelector('.error').textContent !== '');
  assert.match(await page.locator('.error').textContent(), new RegExp(`^Line ${line}: topology\\.rate = "10 Gbs": .*Gbps`));
  await page.locator('.error').click();
  assert.equal(await page.locator('.numbers .wrong').textContent(), String(line));
  await area.fill(text.replace('pairs = 2', 'pairs = 3'));
  await page.waitForFunction(() => document.querySelector('.error').textContent === '');
  await button(page, 'Run').click();
  await page.waitForFunction(() => window.clearway.sides[0]?.layout.nodes.filter((node) => node.kind === 'host').length === 6);
  assert.deepEqual(page.errors, []);
  await page.close();
});

test('the address shows the same again', async () => {
  const page = await open(browser, `${INCAST}&speed=5&seed=7`);
  await page.evaluate(async () => {
    const app = window.clearway;
    const port = app.sides[0].layout.ports.find((one) => one.name === 's0->h0');
    const text = app.sides[0].order.text.replace('64 KB', '48 KB');
    await app.open({ ...app.view, text, now: 90e6, selection: { side: 'left', what: 'port', id: port.id } }, false);
  });
  await settled(page);
  const state = (one) =>
    one.evaluate(() => {
      const { view, sides } = window.clearway;
      return [{ ...view, now: window.clearway.player.now }, sides.map((side) => [...side.frame.ports.queueBytes])];
    });
  await page.waitForFunction(() => location.hash.includes('t=90us') && location.hash.includes('text='));
  const again = await open(browser, await page.evaluate(() => location.hash));
  await settled(again);
  assert.deepEqual(await state(again), await state(page));
  await again.waitForFunction(() => document.querySelector('.panel h3').textContent === 'Port s0->h0');
  await page.close();
  await again.close();
});

test('the table fills as flows finish, and the hash at the end is that of the command', async () => {
  const page = await open(browser, '#scenario=incast-trace&left=dctcp&right=expresspass&speed=2000');
  assert.equal(await page.locator('.flows tbody tr').count(), 0);
  await page.keyboard.press('Space');
  await page.locator('code[data-hash="1"]').waitFor();
  await page.locator('code[data-hash="0"]').waitFor();
  assert.equal(await page.locator('.flows .scroll tbody tr').count(), 4, 'four senders have a row each');
  const hash = (run) => page.locator(`code[data-hash="${run}"]`).textContent();
  const native = (transport) => {
    const script = 'import clearway, sys; print(clearway.run("scenarios/incast-trace.toml", transport=sys.argv[1]).hash)';
    return execFileSync(`${ROOT}/.venv/bin/python`, ['-c', script, transport], { cwd: ROOT, encoding: 'utf8' }).trim();
  };
  assert.equal(await hash(0), native('dctcp'));
  assert.equal(await hash(1), native('expresspass'));
  await page.close();
});

test('a click selects a port and shows its series on both sides', async () => {
  const page = await open(browser, INCAST);
  const place = await page.evaluate(() => {
    const app = window.clearway;
    const port = app.sides[0].layout.ports.find((one) => one.name === 's0->h0').id;
    const { x0, y0, inX, inY } = app.panes[0].shape.lanes;
    const box = app.panes[0].element.querySelector('canvas').getBoundingClientRect();
    return [box.x + x0[port] + 12 * inX[port], box.y + y0[port] + 12 * inY[port]];
  });
  await page.mouse.click(...place);
  await page.waitForFunction(() => document.querySelector('.panel h3').textContent === 'Port s0->h0');
  await page.locator('.panel .chart canvas').first().waitFor();
  const names = await page.locator('.panel .chart').first().locator('.u-label').allTextContents();
  assert.ok(names.includes('dctcp') && names.includes('expresspass'), String(names));
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.querySelector('.panel h3').textContent === 'Nothing is selected');
  await page.close();
});

test('a panic shows its text, and the page recovers', async () => {
  const page = await open(browser, INCAST);
  await page.evaluate(() => window.clearway.engine.rooms.get(0).worker.onerror({ message: 'panicked at a test' }));
  await page.keyboard.press('ArrowRight');
  await page.locator('.note.alarm').first().waitFor();
  assert.match(await page.locator('.note.alarm').first().textContent(), /panicked at a test/);
  await button(page, 'Start again').first().click();
  await page.waitForFunction(() => document.querySelectorAll('.note.alarm:not([hidden])').length === 0);
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() => window.clearway.player.now === 1e6);
  await page.close();
});

test('keys change speed and theme and show the help', async () => {
  const page = await open(browser, '#scenario=dumbbell&left=dctcp&right=none&speed=10');
  await page.keyboard.press('+');
  assert.equal(await page.evaluate(() => window.clearway.player.speed), 15);
  await page.keyboard.press('-');
  assert.equal(await page.evaluate(() => window.clearway.player.speed), 10);
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await theme(), 'light');
  await page.keyboard.press('d');
  assert.equal(await theme(), 'dark');
  await page.keyboard.press('?');
  await page.locator('dialog[open]').waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('dialog[open]').count(), 0);
  await page.close();
});

test('a phone shows both sides below each other without scrolling sideways', async () => {
  const page = await open(browser, INCAST, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const [width, scroll, tops] = await page.evaluate(() => [
    document.documentElement.clientWidth,
    document.documentElement.scrollWidth,
    [...document.querySelectorAll('.pane')].map((pane) => pane.getBoundingClientRect().top),
  ]);
  assert.equal(width, 390);
  assert.ok(scroll <= width, `the page is ${scroll} pixels wide`);
  assert.ok(tops[1] > tops[0] + 200);
  await page.close();
});

test('a large network shows rates of links and its fastest flows', async () => {
  const page = await open(browser, '#scenario=websearch&left=expresspass&right=none&t=200us');
  await page.locator('.top-flows li').first().waitFor();
  const [packets, use] = await page.evaluate(() => {
    const [side] = window.clearway.sides;
    return [side.frame.packets.count, Math.max(...side.layout.ports.map((port) => side.rates.port(port.id) / port.rate_bps))];
  });
  assert.equal(packets, 0, 'single packets are not asked for');
  assert.ok(use > 0.1 && use < 1.05, `the busiest link is used ${use}`);
  await page.close();
});

test('each lesson opens its own scene with its sentences and the port to watch', async () => {
  const page = await open(browser, '#scenario=dumbbell&left=dctcp&right=none');
  await page.keyboard.press('l');
  const titles = await page.locator('.lessons button').allTextContents();
  assert.equal(titles.length, 6);
  for (const title of titles) {
    await page.locator('.lessons button', { hasText: title }).click();
    await page.waitForFunction((one) => document.querySelector('.guide article h3').textContent === one, title);
    await page.waitForFunction(() => document.querySelector('.panel h3').textContent.startsWith('Port '));
    const [lesson, scenario, error] = await page.evaluate(() => [
      window.clearway.view.lesson,
      window.clearway.view.scenario,
      document.querySelector('.note:not([hidden])')?.textContent ?? null,
    ]);
    assert.equal(error, null);
    assert.equal(scenario, `lessons/${lesson}`);
    await page.evaluate(() => window.clearway.select(null));
  }
  assert.deepEqual(page.errors, []);
  await page.close();
});
