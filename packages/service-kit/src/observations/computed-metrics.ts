import type { Metric as RegisteredMetric, Registry } from 'prom-client';
import type { Labels } from './observation.js';

/** One line of a metric in the Prometheus text format. */
export interface Sample {
  readonly labels: Labels;
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
  readonly read: () => Iterable<Sample>;
}

/** Adds computed metrics to the registry of the process. */
export function registerComputed(registry: Registry, metrics: readonly ComputedMetric[]): void {
  for (const metric of metrics) {
    const { name, help, type, read } = metric;
    const computed = {
      name,
      get: () =>
        Promise.resolve({
          name,
          help,
          type,
          aggregator: 'sum',
          values: Array.from(read(), ({ labels, value, suffix = '' }) => ({
            labels,
            value,
            metricName: `${name}${suffix}`,
          })),
        }),
      reset: () => undefined,
    };
    registry.registerMetric(computed as unknown as RegisteredMetric); // a registry only calls `get` and `reset`
  }
}
