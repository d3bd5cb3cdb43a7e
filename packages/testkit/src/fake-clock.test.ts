import { describe, expect, it } from 'vitest';
import { FakeClock } from './fake-clock.js';

describe('FakeClock', () => {
  it('fires in order of time, then of making, and shows each its own time', async () => {
    const clock = new FakeClock(1_000);
    const log: string[] = [];
    const note = (name: string) => () => log.push(`${name}@${clock.monotonicMs()}/${clock.now()}`);
    clock.after(20, note('late'));
    clock.after(10, note('first of two'));
    clock.after(10, note('second of two'));
    clock.after(-5, note('overdue'));
    clock.after(31, note('not yet'));
    await clock.advance(30);
    expect(log).toEqual(['overdue@0/1000', 'first of two@10/1010', 'second of two@10/1010', 'late@20/1020']);
    expect(clock.monotonicMs()).toBe(30);
    expect(clock.pending).toBe(1);
  });

  it('fires what a timer or its promises set on the way', async () => {
    const clock = new FakeClock();
    const log: number[] = [];
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve));
    const work = (async (): Promise<void> => {
      for (let round = 0; round < 4; round++) {
        await sleep(10);
        await Promise.resolve().then(() => Promise.resolve());
        log.push(clock.monotonicMs());
      }
    })();
    await clock.advance(30);
    expect(log).toEqual([10, 20, 30]);
    await clock.advance(10);
    await work;
  });

  it('lets promises settle before the first and after the last timer', async () => {
    const clock = new FakeClock();
    let log = '';
    void Promise.resolve().then(() => clock.after(0, () => void Promise.resolve().then(() => (log += 'done'))));
    await clock.advance(0);
    expect(log).toBe('done');
  });

  it('never fires what was taken back, not even by a timer of the same moment', async () => {
    const clock = new FakeClock();
    let fired = false;
    clock.after(5, () => takeBack());
    const takeBack = clock.after(5, () => {
      fired = true;
    });
    await clock.advance(10);
    expect(fired).toBe(false);
    expect(clock.pending).toBe(0);
    takeBack();
  });
});
