/** Puts functions of the engine that are alike beside each other, where gzip finds what they share: it looks back 32 KB, and
 * the linker leaves copies of a generic function far apart. Locals get numbers that gzip packs better. Sections without
 * effect, such as names, are dropped. What the engine does and how fast stays as it is.
 *
 *     node web/tools/arrange.mjs FROM.wasm TO.wasm
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { renumberLocals } from './locals.mjs';
import { order } from './order.mjs';
import { FUNCTION, groups, Reader, rename, unsigned } from './wasm.mjs';

const [FROM, TO] = process.argv.slice(2);
/** The numbers of sections, as in the specification of WebAssembly. */
const SECTION = { custom: 0, type: 1, import: 2, function: 3, export: 7, start: 8, element: 9, code: 10 };
const EXPORTED_FUNCTION = 0;

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
      if (reader.byte() !== EXPORTED_FUNCTION) {
        throw new Error('only functions can be imported');
      }
      reader.unsigned();
      count += 1;
    }
  }
  return count;
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
    const now = kind === EXPORTED_FUNCTION ? renamed(number) : number;
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

/** The numbers of parameters of the types of functions. */
function parameters(section) {
  return list(section, (reader) => {
    if (reader.byte() !== 0x60) {
      throw new Error('only types of functions are provided for');
    }
    const count = reader.bytes(reader.unsigned()).length;
    reader.bytes(reader.unsigned());
    return count;
  });
}

/** A body that names functions by their new numbers. */
function renumberFunctions(body, renamed) {
  const reader = new Reader(body);
  groups(reader);
  return Buffer.concat([body.subarray(0, reader.at), rename(reader, FUNCTION, renamed)]);
}

/** A module whose functions that are alike stand beside each other, and whose locals have other numbers. */
function arrange(module) {
  const all = sections(module).filter(({ number }) => number !== SECTION.custom);
  const of = (number) => all.find((section) => section.number === number);
  if (of(SECTION.start)) {
    throw new Error('a function that runs at the start is not provided for');
  }
  const types = list(of(SECTION.function), (reader) => reader.unsigned());
  const counts = parameters(of(SECTION.type));
  const linked = list(of(SECTION.code), (reader) => reader.bytes(reader.unsigned()));
  const bodies = linked.map((body, index) => renumberLocals(body, counts[types[index]]));
  const first = imported(of(SECTION.import));
  const arranged = order(bodies);
  const places = new Map(arranged.map((number, place) => [number + first, place + first]));
  const renamed = (number) => places.get(number) ?? number;

  of(SECTION.function).content = written(arranged.map((number) => Uint8Array.from(unsigned(types[number]))));
  of(SECTION.export).content = written(exported(of(SECTION.export), renamed));
  of(SECTION.element).content = written(elements(of(SECTION.element), renamed));
  of(SECTION.code).content = written(
    arranged.map((number) => {
      const body = renumberFunctions(bodies[number], renamed);
      return Buffer.concat([Uint8Array.from(unsigned(body.length)), body]);
    }),
  );
  const parts = all.map(({ number, content }) => [Uint8Array.from([number, ...unsigned(content.length)]), content]);
  return Buffer.concat([module.subarray(0, 8), ...parts.flat()]);
}

writeFileSync(TO, arrange(readFileSync(FROM)));
