/** Files that come in, and links, scenarios, pictures and flows that go out. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { launch, now, open, ROOT, settled } from './browser.mjs';

let browser;
let folder;
before(async () => {
  browser = await launch();
  folder = mkdtempSync(join(tmpdir(), 'clearway-handout-'));
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

const button = (page, name) => page.getByRole('button', { name, exact: true });
const notice = (page) => page.locator('.notice:not([hidden])');
const LINK = '#scenario=lessons/incast&left=dctcp&right=expresspass&t=60us';
const MINE = `# Three hosts answer.
#
#   clearway compare mine.toml --transports cubic,expresspass

[topology]
kind = "star"
hosts = 4

[[traffic]]
kind = "incast"
senders = 3
size = "20 KB"
`;

/** Drops a file on the page. */
const drop = (page, name, content) =>
  page.evaluate(
    ([name, content]) => {
      const data = new DataTransfer();
      data.items.add(new File([typeof content === 'string' ? content : Uint8Array.from(content)], name));
      for (const kind of ['dragenter', 'dragover', 'drop']) {
        document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
      }
    },
    [name, content],
  );

/** What a click on an export gives: the file's name and bytes. */
async function exported(page, words) {
  await button(page, 'Export').click();
  const [download] = await Promise.all([page.waitForEvent('download'), button(page, words).click()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

test('a scenario is opened from a file, runs with what its comment compares, and is shared under its name', async () => {
  writeFileSync(join(folder, 'mine.toml'), MINE);
  const page = await open(browser, '');
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button(page, 'Open').click()]);
  await chooser.setFiles(join(folder, 'mine.toml'));
  await page.waitForFunction(() => window.clearway.sides[1]?.layout.nodes.length === 5);
  assert.deepEqual(await page.evaluate(() => window.clearway.sides.map((side) => side.layout.transports[0])), ['cubic', 'expresspass']);
  assert.equal(await page.locator('.captions').isVisible(), false, 'the opening is over');
  assert.equal(await page.locator('.scene-name').textContent(), 'mine');
  await page.waitForFunction(() => location.hash.includes('scenario=mine') && location.hash.includes('text='));
  const opened = await page.evaluate(() => location.hash);
  await page.getByRole('slider', { name: 'Senders' }).fill('0');
  await page.waitForFunction(() => window.clearway.sides[1]?.layout.nodes.length === 3);
  assert.equal(await page.locator('.scene-name').textContent(), 'mine, changed');
  await page.waitForFunction((before) => location.hash !== before, opened);
  const changed = await page.evaluate(() => location.hash);
  await button(page, 'Undo changes').click();
  await page.waitForFunction(() => window.clearway.sides[1]?.layout.nodes.length === 5);
  assert.equal(await page.evaluate(() => window.clearway.view.text), MINE, 'a link always has the text, which no other page knows');
  // The link follows what is shown a little later.
  await page.waitForFunction((before) => location.hash !== before && location.hash.includes('text='), changed);
  const again = await open(browser, await page.evaluate(() => location.hash));
  assert.equal(await again.evaluate(() => window.clearway.sides[1].layout.nodes.length), 5);
  assert.equal(await again.evaluate(() => window.clearway.view.text), MINE);
  await page.close();
  await again.close();
});

test('a dropped scenario with a mistake shows the error at its line, as a typed one does', async () => {
  const page = await open(browser, LINK);
  await drop(page, 'mine.toml', MINE.replace('20 KB', '20 KBB'));
  await page.waitForFunction(() => document.querySelector('.error').textContent !== '');
  assert.match(await page.locator('.error').textContent(), /^Line 12: traffic\.0\.size = "20 KBB": /);
  await drop(page, 'mine.toml', MINE.replace('hosts = 4', 'hosts = '));
  await page.waitForFunction(() => /^Line 7: /.test(document.querySelector('.error').textContent));
  assert.deepEqual(page.errors, []);
  await page.close();
});

test('a dropped file that is no scenario says so, and what is shown stays', async () => {
  const page = await open(browser, LINK);
  await settled(page);
  for (const [name, content, why] of [
    ['picture.png', [0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe], 'it is no text'],
    ['flows.csv', 'src,dst\nh0,h1\n', 'a scenario is a TOML file with the tables [topology] and [[traffic]]'],
    ['Cargo.toml', '[package]\nname = "x"\n', 'a scenario is a TOML file with the tables [topology] and [[traffic]]'],
    ['long.toml', '#'.repeat(1_000_001), 'the scenario has 1,000,001 characters; this page takes at most 1,000,000'],
  ]) {
    await drop(page, name, content);
    await page.waitForFunction((name) => document.querySelector('.notice:not([hidden]) p')?.textContent.includes(name), name);
    assert.equal(await notice(page).locator('p').first().textContent(), `“${name}” is no scenario: ${why}.`);
    await button(page, 'Close').click();
  }
  assert.deepEqual([await now(page), await page.evaluate(() => window.clearway.view.scenario)], [60e6, 'lessons/incast']);
  await page.close();
});

test('share copies a link that opens the same moment, of the opening too', async () => {
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
  const page = await open(context, '');
  await page.waitForFunction(() => window.clearway.player.now > 1e6);
  await page.keyboard.press('Space');
  await settled(page);
  await page.keyboard.press('s');
  await notice(page).waitFor();
  assert.match(await notice(page).textContent(), /^The link to this moment is copied\. This page is a file/);
  const link = await page.evaluate(() => navigator.clipboard.readText());
  const again = await open(context, new URL(link).hash);
  await settled(again);
  assert.equal(await now(again), await now(page));
  assert.equal(await again.locator('.captions').isVisible(), false);
  await context.close();
});

test('where the browser refuses the clipboard the link is shown, selected', async () => {
  const page = await open(browser, LINK);
  await settled(page);
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('refused'));
  });
  await button(page, 'Share').click();
  const field = page.getByLabel('Link to this moment');
  await field.waitFor();
  const link = await field.inputValue();
  assert.match(link, /#scenario=lessons%2Fincast&left=dctcp&right=expresspass&t=60us/);
  assert.equal(await page.evaluate(() => String(document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd))), link);
  await page.close();
});

test('the scenario, the picture and the finished flows are exported', async () => {
  const page = await open(browser, `${LINK.replace('60us', 'end')}&seed=7`);
  await settled(page);
  const scenario = await exported(page, 'Scenario (.toml)');
  assert.equal(scenario.name, 'lesson-incast.toml');
  const original = readFileSync(resolve(ROOT, 'scenarios/lessons/incast.toml'), 'utf8');
  assert.equal(String(scenario.bytes), `# clearway compare lesson-incast.toml --transports dctcp,expresspass --seed 7\n#\n${original}`);
  const picture = await exported(page, 'Picture (.png)');
  assert.equal(picture.name, 'lesson-incast.png');
  assert.equal(picture.bytes.subarray(1, 4).toString(), 'PNG');
  const [width, height] = [picture.bytes.readUInt32BE(16), picture.bytes.readUInt32BE(20)];
  assert.ok(width > 2000 && height > 600, `${width} x ${height}`);
  const flows = await exported(page, 'Finished flows (.csv)');
  assert.equal(flows.name, 'lesson-incast-flows.csv');
  const [head, ...rows] = String(flows.bytes).trim().split('\n');
  assert.equal(head, 'side,transport,flow,traffic,src,dst,size_bytes,start_s,fct_s,ideal_fct_s,slowdown');
  const finished = await page.evaluate(() => window.clearway.sides.map((side) => side.finished.map((row) => row.fct_ps / 1e12)));
  assert.equal(rows.length, 16);
  const fcts = (side) => rows.map((row) => row.split(',')).filter(([of]) => of === side).map((row) => Number(row[8]));
  assert.deepEqual([fcts('left'), fcts('right')], finished);
  assert.match(rows[0], /^left,dctcp,\d,answers,h\d,h0,64000,0,0\.000\d+,/);
  await page.close();
});
