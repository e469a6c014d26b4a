/** `clearway view`: the page with scenarios and runs of the user, from a file and from its server, in Chromium. */

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { launch, ROOT } from './browser.mjs';

const CLEARWAY = `${ROOT}/.venv/bin/clearway`;
/** Three senders answer one receiver, and the flows stand in a file. */
const SCENARIO = `transport = "expresspass"
[topology]
kind = "star"
hosts = 4
[[traffic]]
kind = "file"
path = "flows.csv"
`;
const FLOWS = 'src,dst,start,size\nh1,h0,0 s,64 KB\nh2,h0,0 s,64 KB\nh3,h0,10 us,64 KB\n';

let browser;
let folder;
const clearway = (...words) => execFileSync(CLEARWAY, words, { cwd: folder, encoding: 'utf8' });
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'clearway-view-'));
  writeFileSync(join(folder, 'mine.toml'), SCENARIO);
  writeFileSync(join(folder, 'flows.csv'), FLOWS);
  clearway('compare', 'mine.toml', '--transports', 'expresspass,dctcp', '--out', 'both', '--quiet');
  browser = await launch();
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

/** Opens an address, plays both sides to their ends, and returns the lines on their hashes. */
async function hashes(url) {
  const page = await browser.newPage();
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
  await page.goto(url);
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'true');
  await page.evaluate(() => window.clearway.player.seek(1e12));
  await page.getByText(/same hash|differs from/).nth(1).waitFor();
  assert.deepEqual(wrong, []);
  const lines = (await page.locator('body').innerText()).match(/.*(same hash|differs from).*/g);
  await page.close();
  return lines;
}

test('the file of a comparison simulates both runs again, with the same hashes', async () => {
  clearway('view', 'both', '--html', 'both.html', '--quiet');
  const lines = await hashes(pathToFileURL(join(folder, 'both.html')).href);
  assert.equal(lines.length, 2);
  assert.match(lines[0], /^dctcp: hash [0-9a-f]{32} same hash as both\/dctcp$/);
  assert.match(lines[1], /^expresspass: hash [0-9a-f]{32} same hash as both\/expresspass$/);
});

test('the native engine gives the page the same hashes over its WebSocket', async () => {
  const server = spawn(CLEARWAY, ['view', 'both', '--native', '--no-browser', '--quiet'], { cwd: folder });
  try {
    const { value: url } = await createInterface({ input: server.stdout })[Symbol.asyncIterator]().next();
    const lines = await hashes(url);
    assert.equal(lines.filter((line) => line.includes('same hash')).length, 2);
  } finally {
    server.kill('SIGINT');
    assert.equal(await new Promise((resolve) => server.on('exit', resolve)), 0, 'Ctrl-C ends the server cleanly');
  }
});
