import { FakeClock } from '@drover/testkit';
import type { WorkerClient } from 'isolated-workers';
import { describe, expect, it } from 'vitest';
import type { AttemptResult } from '../dispatcher.js';
import { attemptOf, definitionOf } from './attempts.test.fixture.js';
import type { LocalMessages, RunPayload, RunReply } from './local-messages.js';
import { LocalWorkerHandle } from './local-worker-handle.js';

interface Sent {
  readonly type: string;
  readonly payload: unknown;
  readonly resolve: (reply?: RunReply) => void;
  readonly reject: (error: unknown) => void;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const error = (code: string): Error => Object.assign(new Error(code), { code });

/** A handle over a worker that does what the test says. */
function open() {
  const clock = new FakeClock(5_000);
  const sent: Sent[] = [];
  const told: string[] = [];
  let become: (client: WorkerClient<LocalMessages>) => void = () => undefined;
  let fail: (reason: unknown) => void = () => undefined;
  const opened = new Promise<WorkerClient<LocalMessages>>((resolve, reject) => {
    become = resolve;
    fail = reject;
  });
  const client = {
    send: (type: string, payload: unknown) =>
      new Promise((resolve, reject) => sent.push({ type, payload, resolve, reject })),
    recycle: async () => void told.push('recycled'),
    close: async () => void told.push('closed'),
  };
  const handle = new LocalWorkerHandle(() => opened, {
    clock,
    limits: { stuckMs: 100, lingerMs: 1_000 },
    events: {
      onUseless: () => told.push('useless'),
      onSpent: () => told.push('spent'),
      onStuck: () => told.push('stuck'),
      onCrash: () => told.push('crash'),
    },
  });
  const call = (input: unknown = 1) => {
    const attempt = attemptOf(definitionOf(), input);
    const outcome: { result?: AttemptResult } = {};
    void handle.run(attempt, clock.monotonicMs()).then((result) => (outcome.result = result));
    return Object.assign(outcome, { attempt });
  };
  const start = async (): Promise<void> => {
    // The handle calls only these three.
    become(client as unknown as WorkerClient<LocalMessages>);
    await turn();
  };
  const runs = (): Sent[] => sent.filter(({ type }) => type === 'run');
  return { handle, clock, sent, runs, told, call, start, fail };
}

describe('a worker of a function', () => {
  it('gets the calls of one turn together, at its end, and those that waited for its start', async () => {
    const { call, start, runs, handle } = open();
    call('a');
    await turn();
    expect(runs()).toHaveLength(0);
    await start();
    expect(runs()).toHaveLength(1);
    call('b');
    call('c');
    expect(runs()).toHaveLength(1);
    await turn();
    expect(runs().map(({ payload }) => (payload as RunPayload).slice(0, 2))).toEqual([
      [1, '"a"'],
      [2, '"b"'],
      [3, '"c"'],
    ]);
    expect(runs().map(({ payload }) => (payload as RunPayload)[5])).toEqual([35_000, 35_000, 35_000]);
    expect(handle.load).toBe(3);
  });

  it('never hears of calls that were abandoned before they were sent', async () => {
    const { call, start, sent, handle } = open();
    const early = call();
    early.attempt.abandon();
    await start();
    const late = call();
    late.attempt.abandon('cancelled');
    await turn();
    expect(sent).toEqual([]);
    expect([early.result, late.result]).toMatchObject([{ kind: 'timeout' }, { kind: 'timeout' }]);
    expect(handle.load).toBe(0);
  });

  it('keeps an abandoned call in hand until its handler has ended', async () => {
    const { call, start, runs, sent, handle, clock } = open();
    await start();
    const given = call();
    await turn();
    given.attempt.abandon();
    expect(sent.at(-1)).toMatchObject({ type: 'cancel', payload: 1 });
    expect([handle.load, handle.wanted]).toEqual([1, 0]);
    sent.at(-1)?.resolve();
    runs()[0]?.resolve('"late"');
    await turn();
    expect(given.result).toMatchObject({ kind: 'timeout' });
    expect(handle.load).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('is retired when a handler goes on for too long, and ends after the calls that are wanted', async () => {
    const { call, start, runs, sent, handle, told, clock } = open();
    await start();
    const ignoring = call();
    const wanted = call();
    await turn();
    ignoring.attempt.abandon();
    sent.at(-1)?.resolve();
    await clock.advance(999);
    expect(handle.isRetired).toBe(false);
    await clock.advance(1);
    expect(handle.isRetired).toBe(true);
    expect(told).toEqual([]);
    runs()[1]?.resolve('2');
    await turn();
    expect(wanted.result).toMatchObject({ kind: 'success' });
    expect(told).toEqual(['spent', 'closed']);
  });

  it('is ended when it does not answer a cancel, unless an older call may compute in good faith', async () => {
    const { call, start, sent, told, handle } = open();
    await start();
    const older = call();
    const spinning = call();
    await turn();
    spinning.attempt.abandon();
    sent.at(-1)?.reject(error('ERR_REQUEST_TIMEOUT'));
    await turn();
    expect([handle.isSuspect, told]).toEqual([true, []]);
    older.attempt.abandon();
    sent.at(-1)?.reject(error('ERR_REQUEST_TIMEOUT'));
    await turn();
    expect(told).toEqual(['stuck', 'recycled']);
    expect(handle.isSuspect).toBe(false);
    // Whoever is run again by the next one is cancelled there as well.
    expect(sent.slice(-2).map(({ type, payload }) => [type, payload])).toEqual([
      ['cancel', 2],
      ['cancel', 1],
    ]);
  });

  it('is no suspect any more once it has answered', async () => {
    const { call, start, sent, runs, told, handle } = open();
    await start();
    call();
    const slow = call();
    await turn();
    slow.attempt.abandon();
    sent.at(-1)?.reject(error('ERR_REQUEST_TIMEOUT'));
    await turn();
    expect(handle.isSuspect).toBe(true);
    runs()[0]?.resolve('1');
    await turn();
    expect([handle.isSuspect, told]).toEqual([false, []]);
  });

  it('that cannot be started fails everybody who waits for it', async () => {
    const { call, fail, told, handle } = open();
    const waiting = [call(), call()];
    fail(error('ERR_WORKER_UNAVAILABLE'));
    await turn();
    for (const { result } of waiting) expect(result).toMatchObject({ code: 'LOCAL_UNAVAILABLE', transient: true });
    expect(told).toEqual(['useless']);
    expect(handle.load).toBe(0);
  });

  it.each([
    ['ERR_WORKER_CRASHED', 'LOCAL_WORKER_CRASHED', true],
    ['ERR_WORKER_CLOSED', 'LOCAL_UNAVAILABLE', true],
    ['ERR_BACKPRESSURE', 'LOCAL_BUSY', true],
    ['ERR_SERIALIZATION', 'EXECUTION_FAILED', false],
    ['LOCAL_UNAVAILABLE', 'LOCAL_UNAVAILABLE', false],
    ['ERR_WHATEVER', 'LOCAL_UNAVAILABLE', true],
  ])('%s becomes %s', async (thrown, code, transient) => {
    const { call, start, runs } = open();
    await start();
    const lost = call();
    await turn();
    runs()[0]?.reject(error(thrown));
    await turn();
    expect(lost.result).toMatchObject({ kind: 'failed', code, transient });
  });
});
