/** The worker: it is handed the compiled engine first, and then requests, each of which it answers. */

import { EngineError } from './engine.ts';
import { WasmEngine } from './wasm.ts';

/** What the page hears: an answer, or the message of an error after which the runs are gone. */
export type WorkerAnswer = { answer: string | ArrayBuffer } | { fatal: string };

const scope = self as unknown as { postMessage(message: WorkerAnswer, transfer: Transferable[]): void };
let engine: WasmEngine | null = null;

self.onmessage = (event: MessageEvent<WebAssembly.Module | string>): void => {
  if (typeof event.data !== 'string') {
    engine = new WasmEngine(event.data);
    return;
  }
  try {
    const answer = engine!.handle(event.data);
    scope.postMessage({ answer }, typeof answer === 'string' ? [] : [answer]);
  } catch (error) {
    const fatal = error instanceof EngineError ? error.message : String(error);
    scope.postMessage({ fatal }, []);
  }
};
