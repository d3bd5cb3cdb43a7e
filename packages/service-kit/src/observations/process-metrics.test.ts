import { describe, expect, it } from 'vitest';
import { renderLabels, type ComputedMetric, type Sample } from './computed-metrics.js';
import { Histogram } from './histogram.js';
import { ProcessMetrics } from './process-metrics.js';
import { createMetrics } from './sinks.js';

const counter = (name: string, read: () => Iterable<Sample>): ComputedMetric => ({
  name,
  help: 'Counted',
  type: 'counter',
  labelNames: ['a'],
  read,
});

describe('ProcessMetrics', () => {
  it('reads computed metrics at scrape time and adds the label of the process', async () => {
    const metrics = createMetrics('test');
    let value = 1;
    const histogram = new Histogram([250]);
    metrics.compute([
      counter('c_total', () => [{ labels: { a: 'x' }, value }]),
      { ...counter('h_seconds', () => histogram.samples('', 0.001)), type: 'histogram' },
    ]);
    value = 7;
    histogram.record(500);
    const text = await metrics.metrics();
    expect(text).toContain('# HELP c_total Counted\n# TYPE c_total counter\nc_total{a="x",process="test"} 7\n');
    expect(text).toContain(
      'h_seconds_bucket{le="0.25",process="test"} 0\nh_seconds_bucket{le="+Inf",process="test"} 1\n',
    );
    expect(text).toContain('h_seconds_sum{process="test"} 0.5\nh_seconds_count{process="test"} 1\n');
    expect(() => metrics.compute([counter('c_total', () => [])])).toThrow('already been registered');
  });

  it('writes the same lines for observed metrics as their library', async () => {
    const metrics = createMetrics('test');
    const others = metrics.getMetricsAsArray().filter(({ name }) => /version_info|process_start/.test(name));
    expect(others).toHaveLength(2);
    const text = await metrics.metrics();
    for (const { name } of others) expect(text).toContain(await metrics.getSingleMetricAsString(name));
  });

  it.each([
    [{ a: 'b', n: 1 }, 'a="b",n="1"'],
    [{ a: 'x"y\\z\n' }, 'a="x\\"y\\\\z\\n"'],
    [{}, ''],
  ])('escapes labels: %j', (labels, text) => {
    expect(renderLabels(labels)).toBe(text);
  });

  it('lets the event loop turn while it writes, but not within a histogram', async () => {
    const metrics = new ProcessMetrics('test');
    const histogram = new Histogram([1, 10]);
    let turns = 0;
    let on = true;
    const turn = (): void => {
      turns += 1;
      histogram.record(5);
      if (on) setImmediate(turn);
    };
    metrics.compute([
      {
        ...counter('h_seconds', function* many() {
          for (let n = 0; n < 20_000; n += 1) yield* histogram.samples(renderLabels({ n }), 1);
        }),
        type: 'histogram',
      },
    ]);
    setImmediate(turn);
    const pieces = await metrics.page();
    on = false;
    expect(turns).toBeGreaterThan(3);
    expect(pieces.length).toBeGreaterThan(20);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(200_000);
    const text = Buffer.concat(pieces).toString('utf8');
    const counts = [
      ...text.matchAll(/_bucket\{n="(\d+)",le="\+Inf",process="test"\} (\d+)\n.*\nh_seconds_count\S+ (\d+)/g),
    ];
    expect(counts).toHaveLength(20_000);
    expect(counts.filter(([, , all, count]) => all !== count)).toEqual([]);
  });

  it('shares one page among scrapes at the same time, and reads anew afterwards', async () => {
    const metrics = new ProcessMetrics('test');
    let reads = 0;
    metrics.compute([counter('c_total', () => [{ labels: {}, value: (reads += 1) }])]);
    const [one, other] = await Promise.all([metrics.page(), metrics.page()]);
    expect(one).toBe(other);
    expect(await metrics.metrics()).toContain('c_total{process="test"} 2');
  });
});
