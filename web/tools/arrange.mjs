/** Puts functions of the engine that are alike beside each other, where gzip finds what they share: it looks back 32 KB, and
 * the linker leaves copies of a generic function far apart. Sections without effect, such as names, are dropped. What the
 * engine does and how fast stays as it is.
 *
 *     node web/tools/arrange.mjs FROM.wasm TO.wasm
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { Reader, renameFunctions, unsigned } from './wasm.mjs';

const [FROM, TO] = process.argv.slice(2);
/** The numbers of sections, as in the specification of WebAssembly. */
const SECTION = { custom: 0, import: 2, function: 3, export: 7, start: 8, element: 9, code: 10 };
const FUNCTION = 0;
/** Functions are compared by their runs of so many bytes. */
const RUN = 6;
/** A run that is in more functions than these says little. */
const COMMON = 100;

/** The sections of a module: number and content. */
function sections(module) {
  const reader = new Reader(module, 8);
  const found = [];
  while (!reader.ended()) {
    const number = reader.byte();
    found.push({ number, content: reader.bytes(reader.unsigned()) });
  }
  return found;
}

/** The number of functions that are imported: they come first, and keep their numbers. */
function imported(section) {
  let count = 0;
  if (section) {
    const reader = new Reader(section.content);
    for (let left = reader.unsigned(); left > 0; left -= 1) {
      reader.bytes(reader.unsigned());
      reader.bytes(reader.unsigned());
      if (reader.byte() !== FUNCTION) {
        throw new Error('only functions can be imported');
      }
      reader.unsigned();
      count += 1;
    }
  }
  return count;
}

/** The runs of a body, as hashes. */
function runs(body) {
  const found = new Set();
  for (let at = 0; at + RUN <= body.length; at += 1) {
    let hash = 0x811c9dc5;
    for (let next = at; next < at + RUN; next += 1) {
      hash = Math.imul(hash ^ body[next], 0x01000193);
    }
    found.add(hash);
  }
  return found;
}

/** Pairs of bodies that share runs, as `first * bodies.length + second`: those that share most come first. */
function alike(bodies) {
  const holders = new Map();
  bodies.forEach((body, number) => {
    for (const run of runs(body)) {
      holders.has(run) ? holders.get(run).push(number) : holders.set(run, [number]);
    }
  });
  const shared = new Map();
  for (const numbers of holders.values()) {
    for (let at = 0; numbers.length <= COMMON && at < numbers.length; at += 1) {
      for (const other of numbers.slice(at + 1)) {
        const pair = numbers[at] * bodies.length + other;
        shared.set(pair, (shared.get(pair) ?? 0) + 1);
      }
    }
  }
  return [...shared].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([pair]) => pair);
}

/** The order of bodies: chains of them grow together at their ends, first where the two that meet share most. */
function order(bodies) {
  const chains = bodies.map((_, number) => [number]);
  for (const pair of alike(bodies)) {
    const [a, b] = [Math.floor(pair / bodies.length), pair % bodies.length];
    const [left, right] = [chains[a], chains[b]];
    if (left === right) {
      continue;
    }
    if (left.at(-1) !== a) {
      left.reverse();
    }
    if (right[0] !== b) {
      right.reverse();
    }
    if (left.at(-1) === a && right[0] === b) {
      for (const number of right) {
        left.push(number);
        chains[number] = left;
      }
    }
  }
  return [...new Set(chains)].flat();
}

/** Reads a list: how many there are, then each by `read`. */
function list(section, read) {
  const reader = new Reader(section.content);
  return Array.from({ length: reader.unsigned() }, () => read(reader));
}

/** Writes a list of parts, each an array of bytes. */
const written = (parts) => Buffer.concat([Uint8Array.from(unsigned(parts.length)), ...parts]);

/** Copies a section of exports, whose functions have new numbers. */
function exported(section, renamed) {
  return list(section, (reader) => {
    const name = reader.bytes(reader.unsigned());
    const [kind, number] = [reader.byte(), reader.unsigned()];
    const now = kind === FUNCTION ? renamed(number) : number;
    return Uint8Array.from([...unsigned(name.length), ...name, kind, ...unsigned(now)]);
  });
}

/** Copies a section of elements, the functions that are called by address. */
function elements(section, renamed) {
  return list(section, (reader) => {
    const start = reader.at;
    const [kind, constant] = [reader.unsigned(), reader.byte()];
    reader.skip();
    if (kind !== 0 || constant !== 0x41 || reader.byte() !== 0x0b) {
      throw new Error('elements must be a list of functions from a constant place on');
    }
    const place = section.content.subarray(start, reader.at);
    const functions = Array.from({ length: reader.unsigned() }, () => unsigned(renamed(reader.unsigned())));
    return Uint8Array.from([...place, ...unsigned(functions.length), ...functions.flat()]);
  });
}

/** A module whose functions that are alike stand beside each other. */
function arrange(module) {
  const all = sections(module).filter(({ number }) => number !== SECTION.custom);
  const of = (number) => all.find((section) => section.number === number);
  if (of(SECTION.start)) {
    throw new Error('a function that runs at the start is not provided for');
  }
  const types = list(of(SECTION.function), (reader) => unsigned(reader.unsigned()));
  const bodies = list(of(SECTION.code), (reader) => reader.bytes(reader.unsigned()));
  const first = imported(of(SECTION.import));
  const arranged = order(bodies);
  const places = new Map(arranged.map((number, place) => [number + first, place + first]));
  const renamed = (number) => places.get(number) ?? number;

  of(SECTION.function).content = written(arranged.map((number) => Uint8Array.from(types[number])));
  of(SECTION.export).content = written(exported(of(SECTION.export), renamed));
  of(SECTION.element).content = written(elements(of(SECTION.element), renamed));
  of(SECTION.code).content = written(
    arranged.map((number) => {
      const body = renameFunctions(bodies[number], renamed);
      return Buffer.concat([Uint8Array.from(unsigned(body.length)), body]);
    }),
  );
  const parts = all.map(({ number, content }) => [Uint8Array.from([number, ...unsigned(content.length)]), content]);
  return Buffer.concat([module.subarray(0, 8), ...parts.flat()]);
}

writeFileSync(TO, arrange(readFileSync(FROM)));
