import type { VersionCalls } from './judge-version.js';

/** What a runtime measured of one version in a second. */
export interface VersionSample {
  /** Ended calls, failed ones among them. */
  readonly completions: number;
  readonly failures: number;
  readonly p95ServiceMs?: number;
}

interface Span {
  readonly startMs: number;
  calls: number;
  failures: number;
  /** Sum of the 95th percentiles, each weighed with its calls. */
  weighedMs: number;
  weight: number;
}

const spanMs = 10_000;
/** As long as the longest useful watch before a change, in spans. */
const maxSpans = 90;

/**
 * Ended calls of one version in spans of ten seconds, for the last quarter of an hour. The percentile of several seconds is their mean,
 * weighed with the calls: that is not exact, but it needs no single durations.
 */
export class CallHistory {
  readonly #spans: Span[] = [];

  add({ completions, failures, p95ServiceMs }: VersionSample, nowMs: number): void {
    if (completions === 0 && failures === 0) return;
    const startMs = nowMs - (nowMs % spanMs);
    let span = this.#spans.at(-1);
    if (span?.startMs !== startMs) {
      span = { startMs, calls: 0, failures: 0, weighedMs: 0, weight: 0 };
      this.#spans.push(span);
      if (this.#spans.length > maxSpans) this.#spans.shift();
    }
    span.calls += Math.max(completions, failures);
    span.failures += failures;
    if (p95ServiceMs === undefined) return;
    span.weighedMs += p95ServiceMs * completions;
    span.weight += completions;
  }

  /** Spans that end after this time. */
  since(fromMs: number): readonly Readonly<Span>[] {
    return this.#spans.filter(({ startMs }) => startMs + spanMs > fromMs);
  }

  isOlderThan(ms: number): boolean {
    return (this.#spans.at(-1)?.startMs ?? 0) < ms;
  }
}

/** Adds up spans of one or several versions. */
export function sumCalls(spans: readonly Readonly<Span>[]): VersionCalls {
  const sum = { calls: 0, failures: 0, weighedMs: 0, weight: 0 };
  for (const span of spans) {
    sum.calls += span.calls;
    sum.failures += span.failures;
    sum.weighedMs += span.weighedMs;
    sum.weight += span.weight;
  }
  const p95Ms = sum.weight === 0 ? undefined : sum.weighedMs / sum.weight;
  return { calls: sum.calls, failures: sum.failures, p95Ms };
}
