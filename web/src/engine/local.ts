/** The engine in this page: each run has a Web Worker of its own, so that two runs use two cores. */

import packed from 'virtual:engine';
import { EngineError, Queue, frame, json, stopped, type Answer, type Engine } from './engine.ts';
import type { Request } from './protocol.ts';
import type { WorkerAnswer } from './worker.ts';
import EngineWorker from './worker.ts?worker&inline';

/** Unpacks and compiles the engine, which the page holds as gzip in base64. */
async function compile(): Promise<WebAssembly.Module> {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
}

/** A worker with the requests that wait for it. */
class Room {
  readonly queue: Queue;
  private readonly worker: Worker;

  constructor(module: WebAssembly.Module) {
    this.worker = new EngineWorker();
    this.queue = new Queue((request) => this.worker.postMessage(request));
    this.worker.onmessage = ({ data }: MessageEvent<WorkerAnswer>) =>
      this.queue.answer('answer' in data ? data.answer : new EngineError(data.fatal, true));
    this.worker.onerror = (event) => this.queue.fail(new EngineError(`the worker ended: ${event.message}`, true));
    this.worker.postMessage(module);
  }

  close(error = new EngineError('the run was closed', true)): void {
    this.worker.terminate();
    this.queue.fail(error);
  }
}

/** The engine whose runs are spread over workers. */
class LocalEngine implements Engine {
  private readonly module: WebAssembly.Module;
  private readonly rooms = new Map<number, Room>();
  /** All files so far, which a new worker is told first. */
  private readonly files: Record<string, string | { base64: string }> = {};

  constructor(module: WebAssembly.Module) {
    this.module = module;
  }

  async call<T>(request: Request): Promise<T> {
    if (request.op === 'files') {
      Object.assign(this.files, request.files);
      const rooms = [...this.rooms.values()];
      const answers = await Promise.all(rooms.map((room) => room.queue.ask(request)));
      return json<T>(answers[0] ?? '{}');
    }
    const run = 'run' in request ? request.run : 0;
    if (request.op === 'close') {
      // The memory of a worker never shrinks, so it goes with its run.
      this.rooms.get(run)?.close();
      this.rooms.delete(run);
      return json<T>('{}');
    }
    return json<T>(await this.ask(run, request));
  }

  async frame(run: number, options = {}): ReturnType<Engine['frame']> {
    return frame(await this.ask(run, { op: 'frame', run, ...options }));
  }

  get busySince(): number | null {
    const times = [...this.rooms.values()].map((room) => room.queue.busySince).filter((time) => time !== null);
    return times.length > 0 ? Math.min(...times) : null;
  }

  /** Ends the workers that are busy; the next request for such a run gets a new one. */
  stop(): void {
    for (const [run, room] of this.rooms) {
      if (room.queue.busySince !== null) {
        this.rooms.delete(run);
        room.close(stopped());
      }
    }
  }

  close(): void {
    for (const room of this.rooms.values()) {
      room.close();
    }
    this.rooms.clear();
  }

  private async ask(run: number, request: Request): Promise<Answer> {
    const room = this.rooms.get(run) ?? this.open(run);
    const answer = await room.queue.ask(request);
    if (answer instanceof EngineError && this.rooms.get(run) === room) {
      // The worker has a new instance or none: the next request gets a new worker with the files.
      this.rooms.delete(run);
      room.close();
    }
    return answer;
  }

  private open(run: number): Room {
    const room = new Room(this.module);
    this.rooms.set(run, room);
    if (Object.keys(this.files).length > 0) {
      void room.queue.ask({ op: 'files', files: this.files });
    }
    return room;
  }
}

/** Starts the engine that the page brings along. */
export async function startEngine(): Promise<Engine> {
  return new LocalEngine(await compile());
}
