import type { Metric as RegisteredMetric, Registry } from 'prom-client';
import type { Labels } from './observation.js';

/** One line of a metric. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** What a histogram adds to its name: `_bucket`, `_sum`, `_count`. */
  readonly suffix?: string;
}

/** A metric whose values are kept elsewhere, as plain numbers, and are read when somebody looks: for paths too hot to observe. */
export interface ComputedMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labelNames: readonly string[];
  readonly read: () => Iterable<Sample>;
}

/** Shows them among the other metrics of the process. */
export function registerComputed(registry: Registry, metrics: readonly ComputedMetric[]): void {
  for (const metric of metrics) {
    const { name, help, type, read } = metric;
    const shown = {
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
    registry.registerMetric(shown as unknown as RegisteredMetric); // `get` and `reset` are all that a registry asks of a metric
  }
}
