import { expect, it } from 'vitest';
import { RestartPolicy } from './restart-policy.js';

const retries = true;

it('allows restarts up to the limit, the first at once, and further ones after the period', () => {
  const policy = new RestartPolicy({ max: 2, periodMs: 1_000, delayMs: 100, maxDelayMs: 150 });
  expect(policy.next(0, 1)).toEqual({ restart: true, delayMs: 0 });
  expect(policy.next(10, 0)).toEqual({ restart: true, delayMs: 50 });
  expect(policy.next(20, 1)).toEqual({ restart: false, restarts: 2, periodMs: 1_000 });
  expect(policy.next(1_005, 1)).toEqual({ restart: true, delayMs: 100 });
});

it('only delays restarts for the retry of a request, unless the limit was set', () => {
  const policy = new RestartPolicy({ delayMs: 100, maxDelayMs: 150 });
  const delays = [1, 2, 3, 4, 5, 6, 7].map((nowMs) => policy.next(nowMs, 1, retries));
  expect(delays.map((decision) => decision.restart && decision.delayMs)).toEqual([0, 100, 150, 150, 150, 150, 150]);
  for (let death = 0; death < 5; death += 1) expect(policy.next(10, 1)).toEqual({ restart: true, delayMs: 150 });
  expect(policy.next(11, 1)).toMatchObject({ restart: false, restarts: 5 });
  expect(policy.next(12, 1, retries)).toMatchObject({ restart: true });
  const strict = new RestartPolicy({ max: 1 });
  expect([strict.next(0, 0, retries).restart, strict.next(0, 0, retries).restart]).toEqual([true, false]);
});
