import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LoopProbe } from './loop-probe.js';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

it('takes an answer that a busy host reads late for an answer in time', async () => {
  const probe = new LoopProbe(process.pid, () => undefined);
  const sample = probe.sample();
  vi.advanceTimersToNextTimer(); // the limit, before what has arrived meanwhile is read
  probe.answered(7);
  await vi.runAllTimersAsync();
  expect(await sample).toEqual({ rssBytes: 7, busyMs: 0 });
});

it('asks a blocked event loop once, and counts from there until it answers', async () => {
  const ask = vi.fn<() => void>();
  const probe = new LoopProbe(process.pid, ask);
  const samples = [probe.sample(), probe.sample()];
  await vi.advanceTimersByTimeAsync(301);
  for (const sample of await Promise.all(samples)) expect(sample?.busyMs).toBeGreaterThanOrEqual(300);
  const later = probe.sample();
  await vi.advanceTimersByTimeAsync(1);
  const sample = await later;
  expect(sample?.busyMs).toBeLessThan(400);
  expect(sample?.rssBytes).toBeGreaterThan(1_000_000);
  expect(ask).toHaveBeenCalledTimes(1);
  probe.answered(7);
  const free = probe.sample();
  probe.answered(8);
  expect(await free).toEqual({ rssBytes: 8, busyMs: 0 });
  expect(ask).toHaveBeenCalledTimes(2);
});

it('does not give a later sample the delay of an earlier one', async () => {
  const probe = new LoopProbe(process.pid, () => undefined);
  const first = probe.sample();
  vi.advanceTimersByTime(301); // it asks the system
  probe.answered(7);
  const second = probe.sample();
  for (const _ of [1, 2, 3]) await readFile(fileURLToPath(import.meta.url));
  probe.answered(8);
  expect(await Promise.all([first, second])).toEqual([7, 8].map((rssBytes) => ({ rssBytes, busyMs: 0 })));
});
