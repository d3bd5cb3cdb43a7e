import type { TriggerSourceObservation } from '@drover/trigger-sources';
import { describe, expect, it } from 'vitest';
import { SourceOutages } from './source-outages.js';

const error = new Error('ECONNREFUSED');
const queueAway = (queue: string): TriggerSourceObservation => ({
  kind: 'queue.unavailable',
  functionName: 'work',
  queue,
  failure: 'unavailable',
  setting: 'AzureWebJobsStorage',
  error,
});
const queueBack = (queue: string): TriggerSourceObservation => ({
  kind: 'queue.available',
  functionName: 'work',
  queue,
  afterMs: 5,
});
const storeAway: TriggerSourceObservation = {
  kind: 'trigger-store.unavailable',
  store: 'postgresql',
  operation: 'read',
  error,
};

describe('outages of trigger sources', () => {
  it('are a problem from their beginning to their end, and are passed on', () => {
    const seen: TriggerSourceObservation[] = [];
    const outages = new SourceOutages();
    const { observe } = outages.open((o) => void seen.push(o));
    expect([outages.count, outages.problem()]).toEqual([0, undefined]);
    observe(queueAway('orders'));
    observe(queueAway('orders'));
    observe(queueAway('bills'));
    observe(storeAway);
    expect([outages.count, outages.problem()]).toEqual([
      3,
      'unavailable: queue orders of work, queue bills of work, trigger-store postgresql',
    ]);
    observe(queueBack('orders'));
    observe({ kind: 'trigger-store.available', store: 'postgresql', afterMs: 1 });
    expect(outages.problem()).toBe('unavailable: queue bills of work');
    observe(queueBack('bills'));
    expect(outages.problem()).toBeUndefined();
    expect(seen).toHaveLength(7);
  });

  it('end with the version of the application that had them', () => {
    const outages = new SourceOutages();
    const [old, current] = [outages.open(() => undefined), outages.open(() => undefined)];
    old.observe(queueAway('orders'));
    current.observe(queueAway('orders'));
    old.close();
    expect(outages.count).toBe(1);
    current.observe(queueBack('orders'));
    expect(outages.count).toBe(0);
  });

  it('are not all named', () => {
    const outages = new SourceOutages();
    const { observe } = outages.open(() => undefined);
    for (let n = 1; n <= 8; n += 1) observe(queueAway(`q${n}`));
    expect(outages.problem()).toMatch(/^unavailable: queue q1 of work, .*queue q5 of work, and 3 more$/);
  });
});
