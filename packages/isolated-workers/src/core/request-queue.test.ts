import { expect, it } from 'vitest';
import { RequestQueue, type Queueable } from './request-queue.js';

interface Item extends Queueable<Item> {
  readonly name: string;
}
const item = (name: string, priority = 0): Item => ({ name, priority, place: undefined });
const names = (items: readonly Item[]): string => items.map(({ name }) => name).join('');

it('gives out in the order of arrival, those put back first', () => {
  const queue = new RequestQueue<Item>();
  const [a, b, c, x, y] = [item('a'), item('b'), item('c'), item('x'), item('y')];
  for (const each of [a, b, c]) queue.push(each);
  queue.putBack(x);
  expect(queue.remove(b)).toBe(true);
  expect(queue.remove(y)).toBe(false);
  expect(queue.length).toBe(3);
  expect(queue.shift()).toBe(x);
  queue.putBack(y);
  expect([queue.shift(), queue.shift(), queue.shift(), queue.shift()]).toEqual([y, a, c, undefined]);
  expect(queue.length).toBe(0);
});

it('gives out higher priorities first, and each in the order of arrival', () => {
  const queue = new RequestQueue<Item>();
  const late = item('c', -1.5);
  for (const each of [item('d'), late, item('a', 7), item('e'), item('b', 7), item('f', -9)]) queue.push(each);
  queue.putBack(item('x'));
  queue.remove(late);
  expect(names(queue.takeAll())).toBe('abxdef');
  queue.push(late);
  expect([queue.length, queue.shift(), queue.length]).toEqual([1, late, 0]);
});

it('leaves items of other queues alone', () => {
  const [one, other] = [new RequestQueue<Item>(), new RequestQueue<Item>()];
  const a = item('a');
  one.push(a);
  expect(other.remove(a)).toBe(false);
  expect([one.length, other.length]).toEqual([1, 0]);
});

it('does the same as a sorted list, whatever is added and removed', () => {
  const queue = new RequestQueue<Item>();
  let model: Item[] = [];
  let state = 1;
  const random = (below: number): number => (state = (state * 48_271) % 2_147_483_647) % below;
  for (let step = 0; step < 3_000; step += 1) {
    const added = item(String(step), random(4));
    const [action, victim] = [random(5), model[random(model.length + 1)]];
    if (action < 2) {
      queue.push(added);
      model.splice(model.filter(({ priority }) => priority >= added.priority).length, 0, added);
    } else if (action === 2) {
      queue.putBack(added);
      model.splice(model.filter(({ priority }) => priority > added.priority).length, 0, added);
    } else if (action === 3 && victim) {
      expect(queue.remove(victim)).toBe(true);
      model = model.filter((other) => other !== victim);
    } else expect(queue.shift()).toBe(model.shift());
    expect(queue.length).toBe(model.length);
  }
  expect(queue.takeAll()).toEqual(model);
});
