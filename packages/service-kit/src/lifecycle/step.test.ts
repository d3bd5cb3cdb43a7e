import { describe, expect, it } from 'vitest';
import { inOrder } from './in-order.js';
import { step } from './step.js';

describe('step', () => {
  it('does its one thing in its turn: on the way up, during the drain or on the way down', async () => {
    const log: string[] = [];
    const never = new AbortController().signal;
    const note = (word: string) => async (): Promise<void> => void log.push(word);
    const all = inOrder('all', [
      step('a', { up: note('up a') }),
      step('b', { down: note('down b') }),
      step('c', { up: note('up c'), drain: note('drain c') }),
    ]);
    await all.start(never);
    await all.drain(never);
    await all.stop();
    expect(log).toEqual(['up a', 'up c', 'drain c', 'down b']);
  });
});
