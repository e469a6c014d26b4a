/** The rule of the command for percentiles, so that the page states the same numbers (`clearway.metrics` in Python). */

import * as format from "./format.ts";

/** Values that must lie beyond a percentile before it is stated without a remark. */
const BEYOND = 10;
/** Flows that a 99th percentile needs for that. */
const P99_FLOWS = 100 * BEYOND;
/** The mark behind a 99th percentile of few flows. */
export const FEW = "*";

/** A percentile of sorted values: it lies between the two nearest ones, in proportion. NaN of nothing. */
export function percentile(sorted: readonly number[], percent: number): number {
  const rank = ((sorted.length - 1) * percent) / 100;
  const below = sorted[Math.floor(rank)] ?? Number.NaN;
  const above = sorted[Math.ceil(rank)] ?? Number.NaN;
  return below + (above - below) * (rank - Math.floor(rank));
}

/** True if a 99th percentile of so many flows has fewer than `BEYOND` of them beyond it. */
export function isFew(count: number): boolean {
  return count > 0 && count < P99_FLOWS;
}

/** The remark on 99th percentiles of few flows; null if all counts are large. */
export function fewFlows(counts: readonly number[]): string | null {
  const few = counts.filter(isFew);
  if (few.length === 0) return null;
  const ends = [...new Set([Math.min(...few), Math.max(...few)])].map(format.count).join(" to ");
  const flows = ends === "1" ? "flow" : "flows";
  return `${FEW} 99th percentiles of fewer than ${format.count(P99_FLOWS)} flows rest on fewer than ${BEYOND} of them (${ends} ${flows}).`;
}
