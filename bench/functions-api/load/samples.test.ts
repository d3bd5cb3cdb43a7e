import { expect, it } from 'vitest';
import { Samples } from './samples.js';

it('keeps all samples in their order, also when they are more than it had room for', () => {
  const samples = new Samples();
  for (let n = 0; n < 10_000; n += 1) samples.push(n + 0.000_4);
  expect(samples).toHaveLength(10_000);
  expect(samples.toArray()).toEqual(Array.from({ length: 10_000 }, (_, n) => n));
});
