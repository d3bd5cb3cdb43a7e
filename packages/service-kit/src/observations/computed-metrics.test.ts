import { describe, expect, it } from 'vitest';
import { registerComputed } from './computed-metrics.js';
import { createMetrics } from './sinks.js';

describe('registerComputed', () => {
  it('reads values at scrape time and adds the labels of the process', async () => {
    const registry = createMetrics('test');
    let value = 1;
    const labelNames = ['a'];
    registerComputed(registry, [
      { name: 'c_total', help: 'Counted', type: 'counter', labelNames, read: () => [{ labels: { a: 'x' }, value }] },
      {
        name: 'h_seconds',
        help: 'Took',
        type: 'histogram',
        labelNames: [],
        read: () => [
          { labels: { le: '+Inf' }, value: 2, suffix: '_bucket' },
          { labels: {}, value: 0.5, suffix: '_sum' },
          { labels: {}, value: 2, suffix: '_count' },
        ],
      },
    ]);
    value = 7;
    const text = await registry.metrics();
    expect(text).toContain('# TYPE c_total counter\nc_total{a="x",process="test"} 7');
    expect(text).toContain('h_seconds_bucket{le="+Inf",process="test"} 2');
    expect(text).toContain('h_seconds_sum{process="test"} 0.5');
    expect(() =>
      registerComputed(registry, [{ name: 'c_total', help: '', type: 'counter', labelNames, read: () => [] }]),
    ).toThrow('already been registered');
  });
});
