import { describe, expect, it } from 'vitest';
import { inOrder } from './in-order.js';
import type { Lifecycle } from './lifecycle.js';

const never = new AbortController().signal;

function part(name: string, log: string[], fail: Partial<Record<'start' | 'drain' | 'stop', Error>> = {}): Lifecycle {
  const act = (word: 'start' | 'drain' | 'stop') => async (): Promise<void> => {
    log.push(`${word} ${name}`);
    if (fail[word]) throw fail[word];
  };
  return { name, start: act('start'), drain: act('drain'), stop: act('stop') };
}

describe('inOrder', () => {
  it('starts forwards, drains all backwards, and only then stops backwards', async () => {
    const log: string[] = [];
    const all = inOrder('all', [part('a', log), part('b', log)]);
    await all.start(never);
    await all.drain(never);
    await all.stop();
    expect(log).toEqual(['start a', 'start b', 'drain b', 'drain a', 'stop b', 'stop a']);
  });

  it('stops what had started, the failed part included, when a start fails', async () => {
    const log: string[] = [];
    const refused = new Error('port taken');
    const all = inOrder('all', [part('a', log), part('b', log, { start: refused }), part('c', log)]);
    await expect(all.start(never)).rejects.toBe(refused);
    expect(log).toEqual(['start a', 'start b', 'stop b', 'stop a']);
  });

  it('stops every part although one fails, and reports all failures together', async () => {
    const log: string[] = [];
    const [first, second] = [new Error('first'), new Error('second')];
    const all = inOrder('all', [part('a', log, { stop: first }), part('b', log, { stop: second }), part('c', log)]);
    await all.start(never);
    await expect(all.stop()).rejects.toMatchObject({ errors: [second, first] });
    expect(log.slice(3)).toEqual(['stop c', 'stop b', 'stop a']);
  });

  it('does nothing when stopped a second time', async () => {
    const log: string[] = [];
    const all = inOrder('all', [part('a', log)]);
    await all.start(never);
    await all.stop();
    await all.stop();
    expect(log).toEqual(['start a', 'stop a']);
  });

  it('gives up between two parts when the start is aborted', async () => {
    const log: string[] = [];
    const giveUp = new AbortController();
    const a = part('a', log);
    const aborting: Lifecycle = {
      ...a,
      start: async (signal) => {
        await a.start(signal);
        giveUp.abort(new Error('enough'));
      },
    };
    const all = inOrder('all', [aborting, part('b', log)]);
    await expect(all.start(giveUp.signal)).rejects.toThrow('enough');
    expect(log).toEqual(['start a', 'stop a']);
  });
});
