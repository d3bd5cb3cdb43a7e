import type { Labels } from './observation.js';

/** One line of a metric in the Prometheus text format. */
export interface Sample {
  /** A text is one that `renderLabels` has made: lines with the same labels need not render them again. */
  readonly labels: Labels | string;
  readonly value: number;
  /** Suffix of the metric's name in a histogram: `_bucket`, `_sum`, `_count`. */
  readonly suffix?: string;
}

/** A metric that is computed from plain numbers when it is scraped, for paths that are too hot to observe every event. */
export interface ComputedMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labelNames: readonly string[];
  /** Read over several turns of the event loop: what it iterates over may change in between. */
  readonly read: () => Iterable<Sample>;
}

/** Returns the labels as they are written between braces. */
export function renderLabels(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${typeof value === 'string' ? escaped(value) : value}"`)
    .join(',');
}

function escaped(value: string): string {
  if (!/[\\\n"]/.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}
