import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { onAbort } from './abort-listeners.js';

describe('many requests with one signal', () => {
  it('share one listener, and all learn of the abort once', () => {
    const controller = new AbortController();
    const told: number[] = [];
    const release = Array.from({ length: 20 }, (_, index) => onAbort(controller.signal, () => told.push(index)));
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    release[0]?.();
    release[0]?.();
    controller.abort();
    expect(told).toEqual(Array.from({ length: 19 }, (_, index) => index + 1));
  });

  it('leave no listener behind when all are settled, and may begin again', () => {
    const { signal } = new AbortController();
    for (const _ of [1, 2]) {
      const release = [onAbort(signal, () => undefined), onAbort(signal, () => undefined)];
      for (const settled of release) settled();
      expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    }
  });

  it('may release each other while they learn of it', () => {
    const controller = new AbortController();
    const told: string[] = [];
    let releaseSecond = (): void => undefined;
    onAbort(controller.signal, () => {
      told.push('first');
      releaseSecond();
    });
    releaseSecond = onAbort(controller.signal, () => told.push('second'));
    controller.abort();
    expect(told).toEqual(['first']);
  });
});
