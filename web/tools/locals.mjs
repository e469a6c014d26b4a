/** The numbers of a function's locals: which local has which number changes nothing but the bytes. */

import { groups, LOCAL, Reader, rename, unsigned } from './wasm.mjs';

/** The types of the locals of a body that are no parameters. */
const types = (reader) => groups(reader).flatMap(({ count, type }) => Array(count).fill(type));

/** How often each local of a body is named. */
function counts(body) {
  const reader = new Reader(body);
  groups(reader);
  const found = [];
  rename(reader, LOCAL, (local) => {
    found[local] = (found[local] ?? 0) + 1;
    return local;
  });
  return found;
}

/**
 * The body of a function whose locals are numbered anew: those of one type stand together, and of these those first that
 * are named most. The same numbers then stand in most functions, which gzip packs better, and more of them take one byte.
 * Those that nothing names are left out. Parameters keep their numbers.
 */
export function renumberLocals(body, parameters) {
  const reader = new Reader(body);
  const named = counts(body);
  const all = types(reader).map((type, index) => ({ type, local: parameters + index }));
  const kept = all.filter(({ local }) => named[local]);
  kept.sort((a, b) => b.type - a.type || named[b.local] - named[a.local]);

  const numbers = new Map(kept.map(({ local }, index) => [local, parameters + index]));
  const code = rename(reader, LOCAL, (local) => numbers.get(local) ?? local);
  const kinds = [...new Set(kept.map(({ type }) => type))];
  const declared = kinds.map((kind) => [...unsigned(kept.filter(({ type }) => type === kind).length), kind]);
  return Buffer.concat([Uint8Array.from([...unsigned(kinds.length), ...declared.flat()]), code]);
}
