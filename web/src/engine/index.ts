/** The engine of the page: in workers (`startEngine`), or in `clearway view` (`connectEngine`). */

export { EngineError, type Engine } from './engine.ts';
export * from './frame.ts';
export { startEngine } from './local.ts';
export type * from './protocol.ts';
export { connectEngine } from './socket.ts';
