import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TimeLimit } from './time-limit.js';

describe('a time limit', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('lets each run out after its own time, and only those that are still there', () => {
    const expired: string[] = [];
    const limit = new TimeLimit<string>(100, (item) => expired.push(item));
    limit.add('first');
    vi.advanceTimersByTime(40);
    limit.add('second');
    limit.add('third');
    limit.delete('second');
    vi.advanceTimersByTime(60);
    expect(expired).toEqual(['first']);
    vi.advanceTimersByTime(39);
    expect(expired).toEqual(['first']);
    vi.advanceTimersByTime(1);
    expect(expired).toEqual(['first', 'third']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('counts anew for what comes while its timer runs on for nobody', () => {
    const expired: string[] = [];
    const limit = new TimeLimit<string>(100, (item) => expired.push(item));
    limit.add('answered');
    limit.delete('answered');
    vi.advanceTimersByTime(90);
    limit.add('late');
    vi.advanceTimersByTime(99);
    expect(expired).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(expired).toEqual(['late']);
  });

  it('goes on with the others when one that ran out brings a new one', () => {
    const expired: string[] = [];
    const limit = new TimeLimit<string>(100, (item) => {
      expired.push(item);
      if (item === 'first') limit.add('again');
    });
    limit.add('first');
    limit.add('second');
    vi.advanceTimersByTime(100);
    expect(expired).toEqual(['first', 'second']);
    vi.advanceTimersByTime(100);
    expect(expired).toEqual(['first', 'second', 'again']);
  });

  it('leaves no timer behind when it is stopped', () => {
    const limit = new TimeLimit<string>(100, () => undefined);
    limit.add('pending');
    limit.stop();
    expect(vi.getTimerCount()).toBe(0);
  });
});
