/** Warnings about a scenario, why a run ended early, and counts of marks, drops and pauses, as a reader sees them. */

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch, open, settled } from './browser.mjs';

/** The warning on the left side of the scene: 64 first windows of ten segments meet in 100 KB. */
const WARNING =
  'dctcp: loses packets before it can react: 64 flows start at once, and their first windows of 10 segments are 984 KB ' +
  'together, more than the buffer of 100 KB.';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** Takes a picture where a folder for pictures is given. */
async function look(page, name) {
  const folder = process.env.CLEARWAY_PICTURES;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** The contrast of two colours (WCAG 2.2, 1.4.3). */
const contrast = (page) =>
  page.evaluate(() => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d');
    const light = (color) => {
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) => {
        const share = part / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const { color, backgroundColor } = getComputedStyle(document.querySelector('.remarks:not([hidden])'));
    const [a, b] = [light(color), light(backgroundColor)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  });

for (const [name, options] of [
  ['a desktop', { viewport: { width: 1280, height: 800 } }],
  ['a phone', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
]) {
  test(`the warning of a side stands below its heading and covers nothing, on ${name}, light and dark`, async () => {
    const page = await open(browser, '#scenario=incast&left=dctcp&right=expresspass', options);
    const remarks = page.locator('.remarks:not([hidden])');
    assert.deepEqual(await remarks.allTextContents(), [WARNING]);
    const boxes = await page.evaluate(() => {
      const pane = document.querySelector('.pane');
      return ['h2', '.remarks', '.stage'].map((one) => pane.querySelector(one).getBoundingClientRect().toJSON());
    });
    const [heading, remark, stage] = boxes;
    assert.ok(heading.bottom <= remark.top && remark.bottom <= stage.top, JSON.stringify(boxes));
    assert.ok(remark.right <= options.viewport.width && remark.height < 80, JSON.stringify(remark));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
    for (const theme of ['light', 'dark']) {
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), theme);
      assert.ok((await contrast(page)) >= 7, `${theme}: ${await contrast(page)}`);
      await look(page, `warning-${name.split(' ')[1]}-${theme}`);
      await page.evaluate(() => document.activeElement.blur());
      await page.keyboard.press('d');
    }
    assert.deepEqual(page.errors, []);
    await page.close();
  });
}

test('a run that ended since time stood still says so with what went on', async () => {
  const page = await open(browser, '#scenario=incast&left=expresspass&right=none');
  await page.evaluate(() => {
    const app = window.clearway;
    const [side] = app.sides;
    side.progress = { ...side.progress, now_ps: 0, ended: 'livelocked' };
    side.result = { hash: 'x', summary: { flow_control: null, livelock: { at_ps: 0, what: 'timers of h0' } } };
    app.panes[0].count();
  });
  assert.equal(await page.locator('.pane .state').first().textContent(), 'time stands still');
  assert.deepEqual(await page.locator('.remarks:not([hidden]) li').allTextContents(), [
    'The run ended at 0 ps, since events followed each other without end at this instant: timers of h0.',
  ]);
  await page.close();
});

test('a deadlock is told with the ports that wait for each other', async () => {
  const page = await open(browser, '#scenario=deadlock&left=own&right=none&speed=100000');
  await page.evaluate(() => window.clearway.player.seek(1e12));
  await page.locator('.remarks li').first().waitFor();
  assert.match(await page.locator('.remarks li').first().textContent(), /^The run ended at .* in a deadlock: each of these ports waits for the next, s\d->s\d, /);
  await page.close();
});

test('the summary counts marks, drops and pauses as the ports do', async () => {
  const page = await open(browser, '#scenario=rdma-incast&left=dcqcn&right=none&t=400us');
  await page.waitForFunction(() => document.querySelector('.summary').textContent !== '' || (window.clearway.player.seek(window.clearway.player.now + 400e6), false), null, { polling: 500 });
  await settled(page);
  await page.waitForTimeout(600);
  const [table, ports] = await page.evaluate(async () => {
    const app = window.clearway;
    const rows = Object.fromEntries([...document.querySelectorAll('.summary tbody tr')].map((row) => [row.children[0].textContent, row.children[1].textContent]));
    const sums = { marks: 0, drops: 0, pauses: 0 };
    for (const { id } of app.sides[0].layout.ports) {
      const port = await app.engine.call({ op: 'port', run: 0, port: id });
      sums.marks += port.counters.marks;
      sums.drops += port.drops.buffer + port.drops.loss + port.drops.down;
      sums.pauses += port.counters.pauses_sent;
    }
    return [rows, sums];
  });
  const shown = ['packets marked (ECN)', 'packets dropped', 'pause frames sent (PFC)'].map((name) => Number(table[name].replaceAll(',', '')));
  assert.deepEqual(shown, [ports.marks, ports.drops, ports.pauses]);
  assert.ok(ports.marks > 0 || ports.pauses > 0, 'the scenario has marks or pauses');
  await look(page, 'summary');
  await page.close();
});

test('packets that are cut are counted, drawn and named, and a flow tells its entropy values and where its packets are', async () => {
  const page = await open(browser, '#scenario=pulls&left=uec-nscc&right=dctcp&t=60us&select=left.flow.3');
  await settled(page);
  await page.waitForFunction(() => document.querySelector('.panel h3').textContent.startsWith('Flow 3'), null, { polling: 50 });
  const count = (side) => page.locator('.pane').nth(side).locator('[data-count=trims]');
  await page.waitForFunction(() => document.querySelector('[data-count=trims]').textContent !== '0', null, { polling: 50 });
  const trims = await page.evaluate(async () => {
    const app = window.clearway;
    const views = await Promise.all(app.sides[0].layout.ports.map(({ id }) => app.engine.call({ op: 'port', run: 0, port: id })));
    return views.reduce((sum, view) => sum + view.counters.trims, 0);
  });
  assert.ok(trims > 100, `${trims}`);
  assert.equal(await page.evaluate(() => window.clearway.sides[0].counters().trims), trims);
  assert.ok(await count(0).isVisible());
  assert.ok(await count(1).isHidden(), 'under DCTCP nothing is cut');
  const legend = await page.locator('.legend').innerText();
  assert.match(legend, /header of cut data/);
  assert.match(legend, /^trim$/m);
  assert.match(await page.locator('.panel .state-now').innerText(), /entropy values? under way/);
  assert.match(await page.locator('.panel .facts').innerText(), /choose paths by entropy values, and are now on /);
  const used = await page.evaluate(() => {
    const { packets, ports } = window.clearway.sides[0].frame;
    const own = [...packets.flow.keys()].filter((index) => packets.flow[index] === 3 && packets.kind[index] === 0);
    return { ports: ports.count, entropies: own.map((index) => packets.entropy[index]) };
  });
  assert.ok(used.entropies.length > 0 && used.entropies.every((value) => value < 65536), JSON.stringify(used));
  await look(page, 'trims');
  assert.deepEqual(page.errors, []);
  await page.close();
});
