/** The engine as WebAssembly: calls of its raw interface. It runs in a worker, and in Node for tests. */

import { EngineError } from './engine.ts';

/** The exports of the Rust crate `clearway-web`. */
interface Exports {
  memory: WebAssembly.Memory;
  /** Makes room for a request of so many bytes and answers where. */
  request(bytes: number): number;
  /** Handles the request that was written there. Answers 0 for JSON, 1 for a frame. */
  handle(): number;
  /** The place and length of the reply, and of the text of a panic; both stay until the next request. */
  reply_pointer(): number;
  reply_length(): number;
  panic_pointer(): number;
  panic_length(): number;
}

/** The most memory in bytes of an instance, as it is linked with in the Makefile. */
const MEMORY = 2 ** 31;

/** An instance of the engine. After a panic it makes a new one, without the runs that there were. */
export class WasmEngine {
  private readonly module: WebAssembly.Module;
  private exports: Exports;

  constructor(module: WebAssembly.Module) {
    this.module = module;
    this.exports = WasmEngine.instantiate(module);
  }

  private static instantiate(module: WebAssembly.Module): Exports {
    return new WebAssembly.Instance(module).exports as unknown as Exports;
  }

  /** Handles a request. It throws a fatal `EngineError` with the text of the panic where the engine panics. */
  handle(request: string): string | ArrayBuffer {
    try {
      const { memory, ...engine } = this.exports;
      const bytes = new TextEncoder().encode(request);
      // Calls may let the memory grow, which gives it another buffer.
      const place = engine.request(bytes.length);
      new Uint8Array(memory.buffer, place, bytes.length).set(bytes);
      const isFrame = engine.handle() === 1;
      const [start, length] = [engine.reply_pointer(), engine.reply_length()];
      if (isFrame) {
        return memory.buffer.slice(start, start + length) as ArrayBuffer;
      }
      return new TextDecoder().decode(new Uint8Array(memory.buffer, start, length));
    } catch (error) {
      const text = this.panic() || (error instanceof Error ? error.message : String(error));
      const isFull = this.panic() === '' && this.exports.memory.buffer.byteLength > MEMORY / 2;
      this.exports = WasmEngine.instantiate(this.module);
      if (isFull) {
        throw new EngineError('The run took more memory than this page has for it, 2 GB. Run it with the command clearway.', true);
      }
      throw new EngineError(`internal error, please report it with the scenario and its seed: ${text}`, true);
    }
  }

  /** The text of the panic that ended the instance; empty if memory ran out. */
  private panic(): string {
    const { memory, panic_pointer, panic_length } = this.exports;
    return new TextDecoder().decode(new Uint8Array(memory.buffer, panic_pointer(), panic_length()));
  }
}
