/** Median and tails of measured values. */
export interface Spread {
  readonly n: number;
  readonly median: number;
  readonly p10: number;
  readonly p90: number;
  readonly p99: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return { n: sorted.length, median: at(0.5), p10: at(0.1), p90: at(0.9), p99: at(0.99) };
}

/**
 * Mann-Whitney U with the normal approximation: whether one of two samples tends to be larger, whatever their distributions.
 * `effect` is the chance that a value of `a` is larger than one of `b`: 0.5 tells nothing.
 */
export function rankTest(a: readonly number[], b: readonly number[]): { z: number; p: number; effect: number } {
  const all = [...a.map((value) => ({ value, own: 1 })), ...b.map((value) => ({ value, own: 0 }))];
  all.sort((one, other) => one.value - other.value);
  let rankSum = 0;
  for (let from = 0; from < all.length; ) {
    let to = from;
    while (to < all.length && all[to]?.value === all[from]?.value) to += 1;
    // Equal values share the mean of their ranks.
    for (let n = from; n < to; n += 1) rankSum += (all[n]?.own ?? 0) * ((from + to + 1) / 2);
    from = to;
  }
  const pairs = a.length * b.length;
  const u = rankSum - (a.length * (a.length + 1)) / 2;
  const z = (u - pairs / 2) / Math.sqrt((pairs * (a.length + b.length + 1)) / 12);
  return { z, p: 2 * tailOf(Math.abs(z)), effect: u / pairs };
}

/** Upper tail of the normal distribution (Abramowitz and Stegun 26.2.17, error below 1e-7). */
function tailOf(z: number): number {
  const t = 1 / (1 + 0.2316419 * z);
  const series = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * series;
}
