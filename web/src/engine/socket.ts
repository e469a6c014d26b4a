/** The engine of `clearway view`, over a WebSocket: requests are text, answers are text (JSON) or bytes (frames). */

import { EngineError, Queue, frame, json, stopped, type Answer, type Engine } from './engine.ts';

/** Connects to an engine, such as `ws://127.0.0.1:8080/engine`. */
export function connectEngine(url: string): Promise<Engine> {
  const socket = new WebSocket(url);
  socket.binaryType = 'arraybuffer';
  const queue = new Queue((request) => socket.send(request));
  socket.onmessage = (event: MessageEvent<Answer>) => queue.answer(event.data);
  return new Promise((resolve, reject) => {
    socket.onclose = () => {
      const error = new EngineError('the connection to clearway view ended; start it again and reload the page', true);
      queue.fail(error);
      reject(error);
    };
    socket.onopen = () =>
      resolve({
        call: async (request) => json(await queue.ask(request)),
        frame: async (run, options) => frame(await queue.ask({ op: 'frame', run, ...options })),
        get busySince() {
          return queue.busySince;
        },
        stop: () => queue.abandon(stopped()),
        close: () => socket.close(),
      });
  });
}
