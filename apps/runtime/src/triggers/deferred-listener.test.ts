import { eventually } from '@drover/testkit';
import type { TriggerListener } from '@drover/trigger-sources';
import { describe, expect, it } from 'vitest';
import { DeferredListener } from './deferred-listener.js';

const never = new AbortController().signal;

function setUp({ fails = false }: { readonly fails?: boolean } = {}) {
  const calls: string[] = [];
  const call = (name: string) => async (): Promise<void> => void calls.push(name);
  const inner: TriggerListener = {
    name: 'queue of work',
    broken: new Promise(() => undefined),
    start: async () => {
      if (fails) throw new Error('a defect');
      calls.push('start');
    },
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
    drain: call('drain'),
    stop: call('stop'),
    measure: async () => ({ waiting: 3, oldestAgeMs: undefined }),
  };
  let answer: () => void = () => undefined;
  const untilAnswer = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      answer = resolve;
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  const listener = new DeferredListener(inner, untilAnswer);
  return { calls, listener, answer: () => answer() };
}

describe('DeferredListener', () => {
  it('counts as started at once, and starts its listener when the emulator answers', async () => {
    const { calls, listener, answer } = setUp();
    await listener.start(never);
    expect(calls).toEqual([]);
    expect(await listener.measure(never)).toMatchObject({ waiting: 3 });
    answer();
    await eventually(() => expect(calls).toEqual(['start']));
    listener.pause();
    listener.resume();
    await listener.drain(never);
    await listener.stop();
    expect(calls).toEqual(['start', 'pause', 'resume', 'drain', 'stop']);
  });

  it('starts paused if it was paused meanwhile', async () => {
    const { calls, listener, answer } = setUp();
    await listener.start(never);
    listener.pause();
    listener.resume();
    listener.pause();
    answer();
    await eventually(() => expect(calls).toEqual(['start', 'pause']));
  });

  it('never starts after a drain', async () => {
    const { calls, listener, answer } = setUp();
    await listener.start(never);
    await listener.drain(never);
    answer();
    await listener.stop();
    expect(calls).toEqual(['stop']);
  });

  it('is broken if its listener cannot start', async () => {
    const { listener, answer } = setUp({ fails: true });
    await listener.start(never);
    answer();
    expect(await listener.broken).toMatchObject({ message: 'a defect' });
  });
});
