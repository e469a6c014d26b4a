/** The order of functions' bodies in which gzip, which looks back 32 KB, finds most of what they share. */

/** Bodies are compared by their runs of so many bytes. */
const RUN = 6;
/** A run that is in more bodies than these says little. */
const COMMON = 100;
/** So many bytes back, gzip finds what is the same. */
const WINDOW = 32_000;
/** The power of a body's size by which what it shares is divided: at 0 the largest bodies come first, at 1 the smallest. */
const POWER = 0.7;

/** The numbers of the runs of each body that other bodies have too, and of each run the numbers of the bodies. */
function runs(bodies) {
  const numbers = new Map();
  const holders = [];
  const all = bodies.map((body, holder) => {
    const found = new Set();
    for (let at = 0; at + RUN <= body.length; at += 1) {
      let hash = 0x811c9dc5;
      for (let next = at; next < at + RUN; next += 1) {
        hash = Math.imul(hash ^ body[next], 0x01000193);
      }
      const number = numbers.get(hash) ?? holders.length;
      if (number === holders.length) {
        numbers.set(hash, number);
        holders.push([]);
      }
      found.add(number);
    }
    found.forEach((number) => holders[number].push(holder));
    return found;
  });
  const tells = (number) => holders[number].length > 1 && holders[number].length <= COMMON;
  const shared = all.map((found) => Uint32Array.from(found).filter(tells));
  return { holders, shared, counts: all.map(({ size }) => size) };
}

/**
 * The numbers of the bodies in their new order. The largest comes first; each time that one follows that shares most with
 * what stands in the window before it, for its size.
 */
export function order(bodies) {
  const { holders, shared, counts } = runs(bodies);
  const sizes = counts.map((count) => (count + 20) ** POWER);
  /** How often each run is in the window, and how many runs of each body are there. */
  const seen = new Uint32Array(holders.length);
  const scores = new Int32Array(bodies.length);
  const count = (number, change) => holders[number].forEach((holder) => (scores[holder] += change));
  const enter = (body) => shared[body].forEach((number) => seen[number]++ === 0 && count(number, 1));
  const leave = (body) => shared[body].forEach((number) => --seen[number] === 0 && count(number, -1));

  const left = new Set(bodies.keys());
  const best = (score) => [...left].reduce((best, body) => (score(body) > score(best) ? body : best));
  const ordered = [];
  let [oldest, size] = [0, 0];
  for (let body = best((body) => counts[body]); ; body = best((body) => scores[body] / sizes[body])) {
    ordered.push(body);
    left.delete(body);
    if (left.size === 0) {
      return ordered;
    }
    enter(body);
    for (size += bodies[body].length; size > WINDOW && ordered[oldest] !== body; oldest += 1) {
      size -= bodies[ordered[oldest]].length;
      leave(ordered[oldest]);
    }
  }
}
