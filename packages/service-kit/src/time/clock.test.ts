import { getEventListeners } from 'node:events';
import { FakeClock } from '@drover/testkit';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { deadlineAfter, sleep, systemClock } from './clock.js';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

describe('sleep', () => {
  it('resolves after the delay and not before', async () => {
    const clock = new FakeClock();
    let awake = false;
    const sleeping = sleep(clock, 100).then(() => (awake = true));
    await clock.advance(99);
    expect(awake).toBe(false);
    await clock.advance(1);
    expect(awake).toBe(true);
    await sleeping;
  });

  it('rejects with the reason at once when the signal aborts, and takes its timer back', async () => {
    const clock = new FakeClock();
    const abort = new AbortController();
    const sleeping = sleep(clock, 100, abort.signal);
    abort.abort(new Error('enough'));
    await expect(sleeping).rejects.toThrow('enough');
    expect(clock.pending).toBe(0);
  });

  it('does not even set a timer when the signal had aborted', async () => {
    const clock = new FakeClock();
    await expect(sleep(clock, 100, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
    expect(clock.pending).toBe(0);
  });

  it('leaves no listener on a signal that lives on', async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    const sleeping = sleep(clock, 5, signal);
    expect(listeners(signal)).toBe(1);
    await clock.advance(5);
    await sleeping;
    expect(listeners(signal)).toBe(0);
  });
});

describe('deadlineAfter', () => {
  it('may have a listener for each of many parts that end by it, without a warning of a leak', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const deadline = deadlineAfter(new FakeClock(), 50);
    for (let part = 0; part < 11; part += 1) deadline.signal.addEventListener('abort', () => undefined);
    deadline.cancel();
    await new Promise((resolve) => setImmediate(resolve));
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });

  it('aborts with a TimeoutError when time is up, and then holds nothing', async () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    const { signal } = deadlineAfter(clock, 50, parent.signal);
    await clock.advance(49);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.reason).toMatchObject({ name: 'TimeoutError', message: 'the deadline passed' });
    expect(clock.pending).toBe(0);
    expect(listeners(parent.signal)).toBe(0);
  });

  it('aborts with its parent and for the same reason, and then holds nothing', () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    const { signal } = deadlineAfter(clock, 50, parent.signal);
    const reason = new Error('stop now');
    parent.abort(reason);
    expect(signal.reason).toBe(reason);
    expect(clock.pending).toBe(0);
    expect(listeners(parent.signal)).toBe(0);
  });

  it('is born aborted when its parent is, without a timer', () => {
    const clock = new FakeClock();
    const reason = new Error('stopped before');
    const deadline = deadlineAfter(clock, 50, AbortSignal.abort(reason));
    expect(deadline.signal.reason).toBe(reason);
    expect(clock.pending).toBe(0);
    deadline.cancel();
  });

  it('never aborts once cancelled, neither by time nor by its parent', async () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    const deadline = deadlineAfter(clock, 50, parent.signal);
    deadline.cancel();
    expect(clock.pending).toBe(0);
    expect(listeners(parent.signal)).toBe(0);
    await clock.advance(100);
    parent.abort();
    expect(deadline.signal.aborted).toBe(false);
  });
});

describe('systemClock', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('waits longer than a 32-bit timer can', () => {
    vi.useFakeTimers();
    const fired = vi.fn<() => void>();
    const monthMs = 31 * 86_400_000;
    systemClock.after(monthMs, fired);
    vi.advanceTimersByTime(monthMs - 1);
    expect(fired).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fired).toHaveBeenCalledOnce();
  });

  it('takes a long wait back also after its first timer has run', () => {
    vi.useFakeTimers();
    const fired = vi.fn<() => void>();
    const cancel = systemClock.after(2 ** 32, fired);
    vi.advanceTimersByTime(2 ** 31 + 5);
    cancel();
    expect(vi.getTimerCount()).toBe(0);
    expect(fired).not.toHaveBeenCalled();
  });

  it('has a monotonic time that does not go back', () => {
    const first = systemClock.monotonicMs();
    expect(systemClock.monotonicMs()).toBeGreaterThanOrEqual(first);
  });
});
