import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { FirstHosting } from './first-hosting.js';

async function isSettled(waiting: Promise<void> | undefined): Promise<boolean> {
  return await Promise.race([(waiting ?? Promise.resolve()).then(() => true), Promise.resolve().then(() => false)]);
}

describe('a runtime that was just started', () => {
  it('knows all without a scale controller', () => {
    expect(new FirstHosting(new FakeClock(), false).untilKnown()).toBeUndefined();
  });

  it('lets requests wait until all that it was told to host is hosted', async () => {
    const clock = new FakeClock();
    const first = new FirstHosting(clock, true);
    const waiting = first.untilKnown();
    first.attached();
    first.began();
    first.began();
    await clock.advance(5_000);
    first.ended();
    await clock.advance(49);
    expect(await isSettled(waiting)).toBe(false);
    first.ended();
    await clock.advance(49);
    expect(await isSettled(waiting)).toBe(false);
    await clock.advance(1);
    await waiting;
    expect(first.untilKnown()).toBeUndefined();
  });

  it('knows all when the scale controller stays silent, and lets no request wait for ever', async () => {
    const clock = new FakeClock();
    const silent = new FirstHosting(clock, true);
    silent.attached();
    const short = silent.untilKnown();
    await clock.advance(1_000);
    await short;
    expect(silent.untilKnown()).toBeUndefined();
    const alone = new FirstHosting(clock, true);
    const long = alone.untilKnown();
    await clock.advance(10_000);
    await long;
    expect(alone.untilKnown()).toBeUndefined();
  });
});
