import { describe, expect, it } from 'vitest';
import type { Lifecycle } from './lifecycle.js';
import { together } from './together.js';

const never = new AbortController().signal;

function part(name: string, log: string[], more: Partial<Lifecycle> = {}): Lifecycle {
  const act = (word: string) => async (): Promise<void> => void log.push(`${word} ${name}`);
  return { name, start: act('start'), drain: act('drain'), stop: act('stop'), ...more };
}

describe('together', () => {
  it('starts all at the same time', async () => {
    const log: string[] = [];
    let second: () => void = () => undefined;
    const waits = part('waits', log, { start: () => new Promise((resolve) => (second = resolve)) });
    const all = together('all', [waits, part('other', log, { start: async () => second() })]);
    await all.start(never);
    await all.drain(never);
    await all.stop();
    await all.stop();
    expect(log).toEqual(['drain waits', 'drain other', 'stop waits', 'stop other']);
  });

  it('aborts the start of the others when one fails, stops all, and rejects with the first failure', async () => {
    const log: string[] = [];
    const patient = part('patient', log, {
      start: (signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    const refused = new Error('port taken');
    const all = together('all', [patient, part('broken', log, { start: () => Promise.reject(refused) })]);
    await expect(all.start(never)).rejects.toBe(refused);
    expect(log).toEqual(['stop patient', 'stop broken']);
    await all.stop();
    expect(log).toHaveLength(2);
  });

  it('stops every part although one fails', async () => {
    const log: string[] = [];
    const failure = new Error('stuck');
    const all = together('all', [part('a', log, { stop: () => Promise.reject(failure) }), part('b', log)]);
    await all.start(never);
    await expect(all.stop()).rejects.toBe(failure);
    expect(log).toContain('stop b');
  });
});
