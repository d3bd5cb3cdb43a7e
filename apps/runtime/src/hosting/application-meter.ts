import type { ApplicationSample } from '@drover/scale-link';
import type { InvocationMeter } from '../invocations/invocation-meter.js';

/** Durations that are kept per version and second: enough for a p95, and bounded under any load. */
const mostDurations = 1_024;

class VersionCounts {
  completions = 0;
  failures = 0;
  #sumMs = 0;
  readonly #durations: number[] = [];

  record(serviceMs: number, isFailure: boolean): void {
    this.completions += 1;
    if (isFailure) this.failures += 1;
    this.#sumMs += serviceMs;
    if (this.#durations.length < mostDurations) this.#durations.push(serviceMs);
    // Under load, later durations overwrite earlier ones in turn, so that the sample covers the whole second.
    else this.#durations[this.completions % mostDurations] = serviceMs;
  }

  get sumMs(): number {
    return this.#sumMs;
  }

  get durations(): readonly number[] {
    return this.#durations;
  }
}

/** What an application did since the reading before. */
export type MeterReading = Pick<
  ApplicationSample,
  'arrivals' | 'completions' | 'failures' | 'meanServiceMs' | 'p95ServiceMs' | 'versions'
>;

/** Counts the invocations of one application, for the sample of each second. */
export class ApplicationMeter implements InvocationMeter {
  #arrivals = 0;
  #versions = new Map<string, VersionCounts>();

  arrive(): void {
    this.#arrivals += 1;
  }

  record(codeVersion: string, serviceMs: number, isFailure: boolean): void {
    let counts = this.#versions.get(codeVersion);
    if (!counts) this.#versions.set(codeVersion, (counts = new VersionCounts()));
    counts.record(serviceMs, isFailure);
  }

  /** Returns what was counted since the reading before, and starts again. */
  read(): MeterReading {
    const all = [...this.#versions];
    const arrivals = this.#arrivals;
    this.#arrivals = 0;
    if (all.length > 0) this.#versions = new Map();
    const completions = all.reduce((sum, [, counts]) => sum + counts.completions, 0);
    const sumMs = all.reduce((sum, [, counts]) => sum + counts.sumMs, 0);
    const durations = all.flatMap(([, counts]) => counts.durations);
    return {
      arrivals,
      completions,
      failures: all.reduce((sum, [, counts]) => sum + counts.failures, 0),
      meanServiceMs: completions === 0 ? undefined : sumMs / completions,
      p95ServiceMs: p95(durations),
      versions: Object.fromEntries(
        all.map(([version, counts]) => {
          const p95ServiceMs = p95(counts.durations);
          const { completions: own, failures } = counts;
          return [version, { completions: own, failures, ...(p95ServiceMs !== undefined && { p95ServiceMs }) }];
        }),
      ),
    };
  }
}

function p95(durations: readonly number[]): number | undefined {
  const sorted = durations.toSorted((one, other) => one - other);
  return sorted[Math.ceil(sorted.length * 0.95) - 1];
}
