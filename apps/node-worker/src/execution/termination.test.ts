import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { AppSlot } from '../loading/app-slot.js';
import { InFlight } from './in-flight.js';
import { invocationOf, loadedFunction, plainModel } from './invocation.test.fixture.js';
import { Termination } from './termination.js';

function setUp() {
  const clock = new FakeClock();
  const inFlight = new InFlight();
  const apps = new AppSlot();
  const seen: string[] = [];
  const termination = new Termination({
    inFlight,
    apps,
    clock,
    systemLog: (_, message) => seen.push(message),
    end: () => seen.push('end'),
  });
  return { clock, inFlight, apps, seen, termination };
}

describe('a termination', () => {
  it('runs hooks and ends at once when nothing is in flight', async () => {
    const { clock, apps, seen, termination } = setUp();
    apps.current.hooks.register('appTerminate', () => seen.push('hook'));
    termination.begin(5_000);
    termination.begin(5_000);
    await clock.advance(0);
    expect(seen).toEqual(['hook', 'end']);
    expect(clock.pending).toBe(0);
  });

  it('waits for running invocations, then cancels them', async () => {
    const { clock, inFlight, seen, termination } = setUp();
    const { invocation } = invocationOf(loadedFunction(plainModel));
    inFlight.add(invocation);
    termination.begin(5_000);
    await clock.advance(3_499);
    expect([invocation.signal.aborted, seen]).toEqual([false, []]);
    await clock.advance(1);
    expect(invocation.signal.aborted).toBe(true);
    expect(seen).toEqual(['Terminating with 1 invocations in flight: test (1).']);
    inFlight.remove(invocation);
    await clock.advance(0);
    expect(seen.at(-1)).toBe('end');
  });

  it('ends in time, though invocations and hooks hang', async () => {
    const { clock, inFlight, apps, seen, termination } = setUp();
    inFlight.add(invocationOf(loadedFunction(plainModel)).invocation);
    apps.current.hooks.register('appTerminate', () => new Promise(() => undefined));
    termination.begin(5_000);
    await clock.advance(4_750);
    expect(seen.at(-1)).toBe('end');
  });

  it.each([
    ['a quarter of a short grace period', { graceMs: 1_000, finishMs: 650, totalMs: 900 }],
    ['2 s of a long one', { graceMs: 60_000, finishMs: 57_750, totalMs: 59_750 }],
  ])('reserves %s for hooks, and time for the last messages', async (_, { graceMs, finishMs, totalMs }) => {
    const { clock, inFlight, apps, seen, termination } = setUp();
    const { invocation } = invocationOf(loadedFunction(plainModel));
    inFlight.add(invocation);
    apps.current.hooks.register('appTerminate', () => new Promise(() => undefined));
    termination.begin(graceMs);
    await clock.advance(finishMs - 1);
    expect(invocation.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(invocation.signal.aborted).toBe(true);
    await clock.advance(totalMs - finishMs - 1);
    expect(seen).not.toContain('end');
    await clock.advance(1);
    expect(seen.at(-1)).toBe('end');
  });

  it('ends at once without a grace period', async () => {
    const { clock, inFlight, seen, termination } = setUp();
    inFlight.add(invocationOf(loadedFunction(plainModel)).invocation);
    termination.begin(0);
    await clock.advance(0);
    expect(seen.at(-1)).toBe('end');
  });

  it('ends even if a hook fails, and logs it', async () => {
    const { clock, apps, seen, termination } = setUp();
    apps.current.hooks.register('appTerminate', () => Promise.reject(new Error('bad')));
    termination.begin(5_000);
    await clock.advance(0);
    expect(seen).toEqual(['An appTerminate hook failed: bad', 'end']);
  });
});
