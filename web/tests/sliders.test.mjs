/** The sliders: which there are, what they write into the text, and what both sides then show at the same instant. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { runnerImport } from 'vite';
import { engineInNode, launch, open, ROOT, settled } from './browser.mjs';
import { comparedBy, FILES, SHIPPED } from './scenarios.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const { knobsOf, turned } = (await runnerImport(resolve(ROOT, 'web/src/knobs.ts'))).module;
const slider = (page, name) => page.getByRole('slider', { name, exact: true });
const INCAST = '#scenario=lessons/incast&left=dctcp&right=expresspass';

test('every choice of every slider of every scenario is taken by the engine, but for memories too small for flow control', () => {
  const ask = engineInNode();
  ask({ op: 'files', files: FILES });
  let tried = 0;
  for (const { name, text } of SHIPPED) {
    const transports = comparedBy(text);
    const openIt = (one) => transports.forEach((transport, run) => ask({ op: 'open', run, name, text: one, transport }));
    openIt(text);
    const resolved = transports.map((_, run) => ask({ op: 'resolved', run }).text);
    const given = { text, original: text, resolved, defaults: resolved, set: [] };
    for (const knob of knobsOf(given)) {
      assert.equal(turned(given, knob, knob.index), text, `${name}: ${knob.label} where it stands changes nothing`);
      for (const index of [0, knob.index - 1, knob.index + 1, knob.choices.length - 1]) {
        if (!knob.choices[index] || index === knob.index) continue;
        const changed = turned(given, knob, index);
        const again = knobsOf({ ...given, text: changed });
        const same = again.find(({ label }) => label === knob.label);
        assert.equal(same.choices[same.index].words, knob.choices[index].words, `${name}: ${knob.label}`);
        const back = same.choices.findIndex(({ words }) => words === knob.choices[knob.index].words);
        assert.equal(turned({ text: changed, original: text }, same, back), text, `${name}: ${knob.label} goes back`);
        tried += 1;
        // The largest networks and numbers of flows take long to build.
        if (knob.label.startsWith('Flows') || (name === 'websearch' && index !== 0)) continue;
        try {
          openIt(changed);
        } catch (error) {
          assert.match(error.message, /shared_buffer = .*is too small for flow control/, `${name}: ${knob.label}`);
        }
      }
    }
  }
  assert.ok(tried > 200, `${tried} choices`);
});

test('sliders are those of keys that the scenario has or whose default the engine tells', async () => {
  const labels = async (hash) => {
    const page = await open(browser, hash);
    await page.locator('.knobs label').first().waitFor();
    const found = await page.locator('.knobs .name').allTextContents();
    await page.close();
    return found;
  };
  assert.deepEqual(await labels(INCAST), ['Senders', 'Buffer', 'ECN threshold K', 'Link rate']);
  assert.deepEqual(await labels('#scenario=dumbbell&left=expresspass&right=cubic'), ['Pairs of hosts', 'Buffer', 'Link rate', 'Rate between']);
  assert.deepEqual(await labels('#scenario=rdma-incast&left=hpcc&right=none'), ['Senders', 'Shared buffer', 'Link rate']);
});

test('a slider changes the text and both sides, which stand at the same instant again, with the port selected', async () => {
  const page = await open(browser, `${INCAST}&t=60us&select=left.port.1`);
  await settled(page);
  const state = () =>
    page.evaluate(() => {
      const { sides, view } = window.clearway;
      return { instants: sides.map((side) => side.frame.nowPs), hosts: sides.map((side) => side.layout.nodes.length - 1), text: view.text };
    });
  await slider(page, 'Senders').fill('10');
  await page.waitForFunction(() => window.clearway.sides.every((side) => side?.frame.nowPs === 60e6 && side.layout.nodes.length === 18));
  await settled(page);
  const { instants, hosts, text } = await state();
  assert.deepEqual([instants, hosts], [[60e6, 60e6], [17, 17]]);
  const original = readFileSync(resolve(ROOT, 'scenarios/lessons/incast.toml'), 'utf8');
  assert.equal(text, original.replace('hosts = 9', 'hosts = 17').replace('senders = 8', 'senders = 16'), 'nothing else is changed');
  await page.waitForFunction(() => document.querySelector('.panel h3').textContent === 'Port s0->h0');
  await page.waitForFunction(() => location.hash.includes('text='));
  await page.keyboard.press('e');
  assert.equal(await page.getByLabel('Scenario in TOML').inputValue(), text, 'the editor shows it');
  const again = await open(browser, await page.evaluate(() => location.hash));
  await settled(again);
  assert.equal(await again.evaluate(() => window.clearway.view.text), text, 'a link contains it');
  assert.equal(await again.locator('.knobs output').first().textContent(), '16');
  await again.close();
  await page.getByRole('button', { name: 'Undo changes' }).click();
  await page.waitForFunction(() => window.clearway.view.text === null && window.clearway.sides[0]?.layout.nodes.length === 10);
  await page.close();
});

test('the results of a slider are those of the same text in the engine', async () => {
  const page = await open(browser, `${INCAST}&t=40us`);
  await slider(page, 'Buffer').fill('0');
  await page.waitForFunction(() => window.clearway.sides[0]?.layout.ports[1].buffer_bytes === 10e3 && window.clearway.player.now === 40e6);
  await settled(page);
  const [text, drops] = await page.evaluate(() => [window.clearway.view.text, window.clearway.sides.map((side) => side.counters().drops)]);
  const ask = engineInNode();
  for (const [index, transport] of ['dctcp', 'expresspass'].entries()) {
    const { ports } = ask({ op: 'open', run: 0, name: 'incast', text, transport });
    ask({ op: 'advance', run: 0, until_ps: 40e6 });
    const native = ports.reduce((sum, { id }) => sum + ask({ op: 'port', run: 0, port: id }).drops.buffer, 0);
    assert.equal(drops[index], native);
  }
  assert.ok(drops[0] > 24, 'a tenth of the buffer drops more');
  await page.close();
});

test('the last of many quick moves counts, and what played goes on playing', async () => {
  const page = await open(browser, `${INCAST}&t=30us&speed=1`);
  await settled(page);
  await page.keyboard.press('Space');
  for (const index of [2, 5, 9, 11, 4]) await slider(page, 'Senders').fill(String(index));
  await page.waitForFunction(() => window.clearway.sides.every((side) => side?.layout.nodes.length === 7) && window.clearway.player.playing);
  const at = await page.evaluate(() => window.clearway.player.now);
  assert.ok(at >= 30e6 && at < 40e6, `${at} ps`);
  assert.match(await page.evaluate(() => window.clearway.view.text), /senders = 5/);
  assert.deepEqual(page.errors, []);
  await page.close();
});

test('a value that the engine refuses says why, and the slider can be moved back', async () => {
  const page = await open(browser, '#scenario=rdma-incast&left=rocev2&right=none');
  const memory = slider(page, 'Shared buffer');
  const before = await memory.inputValue();
  await memory.fill('0');
  await page.locator('.note.alarm').first().waitFor();
  assert.match(await page.locator('.note.alarm').first().textContent(), /shared_buffer = "500 KB": is too small for flow control/);
  await memory.fill(before);
  await page.waitForFunction(() => window.clearway.view.text === null && window.clearway.sides[0] !== null);
  assert.equal(await page.locator('.note.alarm:not([hidden])').count(), 0);
  await page.close();
});
