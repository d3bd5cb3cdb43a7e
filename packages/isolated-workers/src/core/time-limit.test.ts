import v8 from 'node:v8';
import vm from 'node:vm';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TimeLimit } from './time-limit.js';

describe('a time limit', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  class Request {
    settled = false;
    deadline: object | undefined;
    readonly name: string;
    constructor(name: string) {
      this.name = name;
    }
  }
  const open = (): {
    limit: TimeLimit<Request>;
    add: (name: string) => Request;
    settle: (item: Request) => void;
    expired: string[];
  } => {
    const expired: string[] = [];
    const limit = new TimeLimit<Request>(100, (item) => expired.push(item.name));
    const add = (name: string): Request => {
      const item = new Request(name);
      limit.add(item);
      return item;
    };
    const settle = (item: Request): void => {
      item.settled = true;
      limit.recordSettled();
    };
    return { limit, add, settle, expired };
  };

  it('lets each run out after its own time, and only those that are still there', () => {
    const { add, settle, expired } = open();
    add('first');
    vi.advanceTimersByTime(40);
    const second = add('second');
    add('third');
    settle(second);
    vi.advanceTimersByTime(60);
    expect(expired).toEqual(['first']);
    vi.advanceTimersByTime(39);
    expect(expired).toEqual(['first']);
    vi.advanceTimersByTime(1);
    expect(expired).toEqual(['first', 'third']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('lets no time count for a suspended item, and the whole time after it is added again', () => {
    const { add, limit, expired } = open();
    const first = add('first');
    add('second');
    vi.advanceTimersByTime(60);
    limit.suspend(first);
    vi.advanceTimersByTime(60);
    expect(expired).toEqual(['second']);
    limit.add(first);
    vi.advanceTimersByTime(99);
    expect(expired).toEqual(['second']);
    vi.advanceTimersByTime(1);
    expect(expired).toEqual(['second', 'first']);
  });

  it('starts a new limit for an item that is added while the timer runs for settled ones', () => {
    const { add, settle, expired } = open();
    settle(add('answered'));
    vi.advanceTimersByTime(90);
    add('late');
    vi.advanceTimersByTime(99);
    expect(expired).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(expired).toEqual(['late']);
  });

  it('continues with the others when an expired item adds a new one', () => {
    const expired: string[] = [];
    const limit = new TimeLimit<Request>(100, ({ name }) => {
      expired.push(name);
      if (name === 'first') limit.add(new Request('again'));
    });
    limit.add(new Request('first'));
    limit.add(new Request('second'));
    vi.advanceTimersByTime(100);
    expect(expired).toEqual(['first', 'second']);
    vi.advanceTimersByTime(100);
    expect(expired).toEqual(['first', 'second', 'again']);
  });

  it('removes settled items', async () => {
    const { add, settle } = open();
    const gone: string[] = [];
    const registry = new FinalizationRegistry<string>((name) => void gone.push(name));
    for (let n = 0; n < 1_000; n += 1) {
      const item = add(`n${n}`);
      registry.register(item, item.name);
      settle(item);
    }
    vi.useRealTimers();
    v8.setFlagsFromString('--expose-gc');
    const collect = vm.runInNewContext('gc') as () => void;
    await eventually(() => {
      collect();
      expect(gone.length).toBeGreaterThan(900);
    });
  });

  it('leaves no timer behind when it is stopped', () => {
    const { add, limit } = open();
    add('pending');
    limit.stop();
    expect(vi.getTimerCount()).toBe(0);
  });
});
