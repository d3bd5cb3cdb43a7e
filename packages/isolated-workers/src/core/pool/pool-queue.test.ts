import { expect, it } from 'vitest';
import { PoolQueue } from './pool-queue.js';

const item = (name: string) => ({ name });

it('gives out in the order of arrival, those put back first', () => {
  const queue = new PoolQueue<{ name: string }>();
  const [a, b, c, x, y] = [item('a'), item('b'), item('c'), item('x'), item('y')];
  for (const each of [a, b, c]) queue.push(each);
  queue.putBack(x);
  queue.remove(b);
  queue.remove(y);
  expect(queue.length).toBe(3);
  expect(queue.shift()).toBe(x);
  queue.putBack(y);
  expect([queue.shift(), queue.shift(), queue.shift(), queue.shift()]).toEqual([y, a, c, undefined]);
  expect(queue.length).toBe(0);
});

it('keeps the order of ten thousand that come and go', () => {
  const queue = new PoolQueue<{ n: number }>();
  for (let n = 0; n < 10_000; n += 1) queue.push({ n });
  let last = -1;
  for (let n = 0; n < 100_000; n += 1) {
    if (queue.shift()?.n === last + 1) last += 1;
    queue.push({ n: n + 10_000 });
  }
  expect(last).toBe(99_999);
  expect(queue.takeAll()).toHaveLength(10_000);
  expect(queue.length).toBe(0);
});
