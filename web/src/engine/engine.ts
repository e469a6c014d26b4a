/** The interface of an engine to the page, and what its implementations share. */

import { decode, type Frame } from './frame.ts';
import type { FrameOptions, Request } from './protocol.ts';

/** A simulator that answers requests, in the order in which they come for each run. */
export interface Engine {
  /** Sends a request whose answer is JSON. It rejects with an `EngineError` where the engine refuses. */
  call<T>(request: Request): Promise<T>;
  /** Takes a frame of a run at its present time. */
  frame(run: number, options?: FrameOptions): Promise<Frame>;
  /** The time, on the clock of `performance.now`, since which an answer is due; null where none is. */
  readonly busySince: number | null;
  /** Stops whatever is under way: those requests are rejected, and the runs that they are for are gone. */
  stop(): void;
  /** Ends the engine with all its runs. */
  close(): void;
}

/** The engine's refusal of a request, in one line for people. */
export class EngineError extends Error {
  override name = 'EngineError';
  /** True if the engine panicked or was lost: its runs are gone, and may be opened again. */
  readonly isFatal: boolean;

  constructor(message: string, isFatal = false) {
    super(message);
    this.isFatal = isFatal;
  }
}

/** The answer to requests that were stopped. */
export function stopped(): EngineError {
  return new EngineError('The run was stopped before the engine had answered.', true);
}

/** An answer: JSON, the bytes of a frame, or an error after which the runs are gone. */
export type Answer = string | ArrayBuffer | EngineError;

/** Requests that wait for their answers, which come in the same order. */
export class Queue {
  private readonly waiting: ((answer: Answer) => void)[] = [];
  private lost: EngineError | null = null;
  /** The time since which the next answer is due. */
  private since = 0;
  private readonly send: (request: string) => void;

  constructor(send: (request: string) => void) {
    this.send = send;
  }

  /** Sends a request and waits for its answer. */
  ask(request: Request): Promise<Answer> {
    if (this.lost) {
      return Promise.resolve(this.lost);
    }
    if (this.waiting.length === 0) {
      this.since = performance.now();
    }
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.send(JSON.stringify(request));
    });
  }

  /** Hands an answer to the request that has waited longest. */
  answer(answer: Answer): void {
    this.waiting.shift()?.(answer);
    this.since = performance.now();
  }

  /** The time since which an answer is due; null where none is. */
  get busySince(): number | null {
    return this.waiting.length > 0 ? this.since : null;
  }

  /** Answers whatever waits with an error; the answers that still come are dropped. */
  abandon(error: EngineError): void {
    const waiting = this.waiting.splice(0);
    this.waiting.push(...waiting.map(() => () => {}));
    for (const resolve of waiting) {
      resolve(error);
    }
  }

  /** Answers whatever waits, or comes later, with an error. */
  fail(error: EngineError): void {
    this.lost = error;
    for (const resolve of this.waiting.splice(0)) {
      resolve(error);
    }
  }
}

/** Reads an answer in JSON, and throws where the engine refused. */
export function json<T>(answer: Answer): T {
  if (answer instanceof EngineError) {
    throw answer;
  }
  if (typeof answer !== 'string') {
    throw new EngineError('the engine answered with a frame where JSON was expected');
  }
  const value = JSON.parse(answer) as T & { error?: string };
  if (typeof value.error === 'string') {
    throw new EngineError(value.error);
  }
  return value;
}

/** Reads an answer that is a frame, and throws where the engine refused. */
export function frame(answer: Answer): Frame {
  if (answer instanceof ArrayBuffer) {
    return decode(answer);
  }
  json<unknown>(answer);
  throw new EngineError('the engine answered with JSON where a frame was expected');
}
