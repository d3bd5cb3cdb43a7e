import { expect, it } from 'vitest';
import { OwnershipListeners, type OwnershipListener } from './ownership-listener.js';

function recording(calls: string[], name: string, until: Promise<void> = Promise.resolve()): OwnershipListener {
  return {
    async acquired() {
      await until;
      calls.push(`${name} acquired`);
    },
    async releasing() {
      await until;
      calls.push(`${name} releasing`);
    },
    lost: () => void calls.push(`${name} lost`),
  };
}

function both(first: OwnershipListener, second: OwnershipListener): OwnershipListeners {
  const listeners = new OwnershipListeners();
  listeners.add(first);
  listeners.add(second);
  return listeners;
}

it('calls listeners one after the other, and all at once for a loss, whatever is under way', async () => {
  const calls: string[] = [];
  let resume = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    resume = resolve;
  });
  const listeners = both(recording(calls, 'first', held), recording(calls, 'second'));
  const acquiring = listeners.acquired([1]);
  listeners.lost([1]);
  resume();
  await acquiring;
  await listeners.releasing([1], new AbortController().signal);
  expect(calls).toEqual([
    'first lost',
    'second lost',
    'first acquired',
    'second acquired',
    'first releasing',
    'second releasing',
  ]);
});

it('does not call the listeners behind one that rejects', async () => {
  const calls: string[] = [];
  const listeners = both(recording(calls, 'first', Promise.reject(new Error('no'))), recording(calls, 'second'));
  await expect(listeners.acquired([1])).rejects.toThrow('no');
  expect(calls).toEqual([]);
});
