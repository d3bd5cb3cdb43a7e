import type { TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';
import { createMetrics, Histogram } from '@drover/service-kit';
import { beforeEach, describe, expect, it } from 'vitest';
import { engineMetrics } from './engine-metrics.js';
import { FunctionQueues } from './function-queue.js';
import { MeasuredFunctions } from './measured-functions.js';

const definitionOf = (name: string, over: Partial<FunctionDefinition> = {}): FunctionDefinition =>
  ({
    tenantId: 'default' as TenantId,
    name,
    generation: 1,
    concurrency: 4,
    queueSize: 100,
    spec: { name },
    ...over,
  }) as FunctionDefinition; // what metrics read of it

let queues: FunctionQueues;
let metrics: ReturnType<typeof createMetrics>;
beforeEach(() => {
  queues = new FunctionQueues();
  metrics = createMetrics('test');
  const engine = {
    queues,
    live: { size: 0, all: () => [] },
    sync: { admitted: 0, rejected: 0, timedOut: 0, wait: new Histogram() },
    sweeper: { durations: new Histogram() },
    runner: { inFlight: 0 },
  };
  metrics.compute(engineMetrics(() => engine as never)); // what metrics read of it
});
const linesOf = async (name: string): Promise<string[]> =>
  (await metrics.metrics()).split('\n').filter((line) => line.includes(`function="${name}"`));
const label = (name: string): string => `{tenant="default",function="${name}",process="test"}`;

describe('metrics of functions', () => {
  it('are those that have something to say, in seconds and, for dashboards of nanoFaaS, in milliseconds', async () => {
    const queue = queues.open(definitionOf('f'));
    queue.metrics.enqueued = 3;
    queue.metrics.latency.record(30);
    const lines = await linesOf('f');
    expect(lines).toEqual(
      expect.arrayContaining([
        `function_enqueue_total${label('f')} 3`,
        `function_queue_depth${label('f')} 0`,
        `function_effective_concurrency${label('f')} 4`,
        `function_latency_seconds_bucket{tenant="default",function="f",le="0.1",process="test"} 1`,
        `function_latency_seconds_sum${label('f')} 0.03`,
        `function_latency_ms_sum${label('f')} 30`,
        `function_latency_ms_count${label('f')} 1`,
      ]),
    );
    expect(lines.filter((line) => line.includes('latency'))).toHaveLength(8 + 3 + 3);
    expect(lines.filter((line) => /error_total|cold_start|controller_mode|per_pod/.test(line))).toEqual([]);
    expect(lines).toHaveLength(1 + 3 + 11 + 3);
  });

  it('show the concurrency control of functions that have one', async () => {
    const concurrencyControl = { mode: 'FIXED', targetInFlightPerPod: 2 } as const;
    queues.open(definitionOf('controlled', { spec: { name: 'controlled', concurrencyControl } }));
    expect(await linesOf('controlled')).toEqual(
      expect.arrayContaining([
        `function_target_inflight_per_pod${label('controlled')} 2`,
        'function_concurrency_controller_mode{tenant="default",function="controlled",mode="FIXED",process="test"} 1',
      ]),
    );
  });

  it('stay when the function moves to another replica, and go on when it comes back', async () => {
    const queue = queues.open(definitionOf('moving'));
    queue.metrics.succeeded = 5;
    queue.metrics.latency.record(1);
    queues.close(queue, 'moved');
    const away = await linesOf('moving');
    expect(away).toContain(`function_success_total${label('moving')} 5`);
    expect(away.some((line) => line.startsWith('function_latency_seconds_count'))).toBe(true);
    expect(away.filter((line) => line.startsWith('function_queue_depth'))).toEqual([]);
    const back = queues.open(definitionOf('moving'));
    back.metrics.succeeded += 1;
    expect(await linesOf('moving')).toContain(`function_success_total${label('moving')} 6`);
  });

  it('end with the function, also where it was before, and begin anew with another of its name', async () => {
    const removed = queues.open(definitionOf('one'));
    removed.metrics.succeeded = 5;
    queues.close(removed, 'removed');
    expect(await linesOf('one')).toEqual([]);
    const moved = queues.open(definitionOf('two'));
    moved.metrics.succeeded = 5;
    queues.close(moved, 'moved');
    queues.open(definitionOf('two', { generation: 2 })).metrics.succeeded = 1;
    expect(await linesOf('two')).toContain(`function_success_total${label('two')} 1`);
  });

  it('need less than 2 KB per function at 10,000 of them', async () => {
    const count = 10_000;
    for (let n = 0; n < count; n += 1) {
      const { metrics: own } = queues.open(definitionOf(`function-${n}`));
      own.enqueued = own.dispatched = own.succeeded = own.warmStarts = 1_000;
      for (const histogram of [own.latency, own.queueWait, own.endToEnd]) histogram.record(30);
    }
    const bytes = (await metrics.page()).reduce((sum, { length }) => sum + length, 0);
    expect(bytes / count).toBeGreaterThan(500); // all of them are there
    expect(bytes / count).toBeLessThan(2_000);
  });
});

describe('MeasuredFunctions', () => {
  const open = (measured: MeasuredFunctions, name: string) => measured.open(definitionOf(name));
  const tenantId = 'default' as TenantId;

  it('have buckets while there is room, which a removed function makes', () => {
    const measured = new MeasuredFunctions({ functions: 10, withBuckets: 2 });
    expect(['a', 'b', 'c'].map((name) => open(measured, name).hasBuckets)).toEqual([true, true, false]);
    measured.remove(tenantId, 'a');
    expect(open(measured, 'd').hasBuckets).toBe(true);
    expect(open(measured, 'c').hasBuckets).toBe(false); // the same as before
  });

  it('are bounded: those that moved away first make room, those in use stay', () => {
    const measured = new MeasuredFunctions({ functions: 3, withBuckets: 3 });
    const [a, b] = ['a', 'b', 'c'].map((name) => open(measured, name));
    measured.moved(tenantId, 'b');
    measured.moved(tenantId, 'a');
    const d = open(measured, 'd');
    expect([...measured.values()]).not.toContain(b);
    expect([...measured.values()]).toEqual(expect.arrayContaining([a, d]));
    expect(open(measured, 'a')).toBe(a);
    const hidden = open(measured, 'e');
    expect([...measured.values()]).not.toContain(hidden);
    expect([...measured.values()]).toHaveLength(3);
  });
});
