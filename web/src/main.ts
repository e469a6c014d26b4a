/** The page. */

import { startEngine, type Layout, type Progress, type Result } from './engine/index.ts';
import incast from '../../scenarios/incast.toml?raw';

const engine = await startEngine();
const layout = await engine.call<Layout>({ op: 'open', run: 0, name: 'incast', text: incast });
const progress = await engine.call<Progress>({ op: 'advance', run: 0, events: 100_000_000 });
const result = await engine.call<Result>({ op: 'result', run: 0 });
document.querySelector('#page')!.textContent = JSON.stringify({ name: layout.name, progress, result });
