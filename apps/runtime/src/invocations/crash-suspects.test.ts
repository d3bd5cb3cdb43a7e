import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { definition } from '../worker-side.test.fixture.js';
import { CrashSuspects } from './crash-suspects.js';
import type { InvocationCall } from './invocation-call.js';

function setUp() {
  const clock = new FakeClock();
  const isolated: string[] = [];
  const suspects = new CrashSuspects({
    clock,
    isolate: (key) => isolated.push(key) > 0,
    endIsolation: (key) => void isolated.splice(isolated.indexOf(key), 1),
    observe: () => undefined,
  });
  let workers = 0;
  const worker = () => ({ id: `w${(workers += 1)}`, applicationKey: 'tenant/app:v1' });
  return { clock, suspects, isolated, worker };
}

function call(name: string, messageId?: string): InvocationCall {
  return { definition: definition(name), inputs: () => ({ inputData: [], triggerMetadata: {} }), trace: {}, messageId };
}

describe('what may have ended a worker', () => {
  it('is nothing before the first crash, and nothing again some time after it', async () => {
    const { suspects, worker, clock } = setUp();
    expect(suspects.isEmpty).toBe(true);
    suspects.recordCrash(call('hello'), worker(), false);
    expect(suspects.isEmpty).toBe(false);
    expect(suspects.judge(call('hello'))).toEqual({ kind: 'clear' });
    await clock.advance(120_000);
    expect(suspects.isEmpty).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('runs alone after the first crash if it is a message, and is poison after the second', () => {
    const { suspects, worker } = setUp();
    const [message, other] = [call('queue', 'm1'), call('queue', 'm2')];
    suspects.recordCrash(message, worker(), false);
    expect(suspects.judge(message)).toEqual({ kind: 'isolate' });
    expect(suspects.judge(other)).toEqual({ kind: 'clear' });
    expect(suspects.begin(message)).toBe(true);
    suspects.recordCrash(message, worker(), true);
    suspects.end(message);
    expect(suspects.judge(message)).toEqual({ kind: 'poison', crashes: 2 });
  });

  it('is cleared by an answer in isolation, also the innocent neighbours of a poisonous message', () => {
    const { suspects, worker } = setUp();
    const lost = worker();
    const messages = ['m1', 'm2', 'm3'].map((id) => call('queue', id));
    for (const message of messages) suspects.recordCrash(message, lost, false);
    for (const message of messages.slice(1)) {
      expect(suspects.judge(message)).toEqual({ kind: 'isolate' });
      suspects.recordAnswer(message);
      expect(suspects.judge(message)).toEqual({ kind: 'clear' });
    }
    expect(suspects.judge(call('queue', 'm1'))).toEqual({ kind: 'isolate' });
  });

  it('is a function after two crashes, however many of its calls were in flight', () => {
    const { suspects, worker } = setUp();
    const lost = worker();
    for (let n = 0; n < 5; n += 1) suspects.recordCrash(call('crash'), lost, false);
    expect(suspects.judge(call('crash'))).toEqual({ kind: 'clear' });
    suspects.recordCrash(call('crash'), worker(), false);
    expect(suspects.judge(call('crash'))).toEqual({ kind: 'isolate' });
    expect(suspects.judge(call('hello'))).toEqual({ kind: 'clear' });
  });

  it('is tried one call at a time, and refused for a time that doubles up to a few seconds', async () => {
    const { suspects, worker, clock } = setUp();
    for (let n = 0; n < 2; n += 1) suspects.recordCrash(call('crash'), worker(), false);
    const pauses: number[] = [];
    for (let n = 0; n < 6; n += 1) {
      suspects.begin(call('crash'));
      const behind = suspects.judge(call('crash'));
      expect(behind.kind).toBe('wait');
      suspects.recordCrash(call('crash'), worker(), true);
      suspects.end(call('crash'));
      if (behind.kind === 'wait') await behind.until;
      const verdict = suspects.judge(call('crash'));
      if (verdict.kind !== 'refuse') return expect.unreachable(verdict.kind);
      pauses.push(verdict.retryAfterMs);
      expect(suspects.judge(call('crash', 'a message waits')).kind).toBe('wait');
      await clock.advance(verdict.retryAfterMs);
      expect(suspects.judge(call('crash')).kind).toBe('isolate');
    }
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 5_000, 5_000]);
    suspects.recordAnswer(call('crash'));
    expect(suspects.isEmpty).toBe(true);
  });

  it('has an isolated worker only while it is needed', async () => {
    const { suspects, worker, clock, isolated } = setUp();
    suspects.recordCrash(call('queue', 'm1'), worker(), false);
    suspects.begin(call('queue', 'm1'));
    expect(isolated).toEqual(['tenant/app:v1']);
    suspects.recordAnswer(call('queue', 'm1'));
    await clock.advance(60_000);
    expect(isolated).toEqual([]);
  });
});
