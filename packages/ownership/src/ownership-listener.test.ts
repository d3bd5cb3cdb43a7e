import { expect, it } from 'vitest';
import type { OwnershipListener } from './owner-directory.js';
import { OwnershipListeners } from './ownership-listeners.js';

function listening(heard: string[], name: string, until: Promise<void> = Promise.resolve()): OwnershipListener {
  return {
    async acquired() {
      await until;
      heard.push(`${name} acquired`);
    },
    async releasing() {
      await until;
      heard.push(`${name} releasing`);
    },
    lost: () => void heard.push(`${name} lost`),
  };
}

function combined(...listeners: readonly OwnershipListener[]): OwnershipListeners {
  const both = new OwnershipListeners();
  for (const listener of listeners) both.add(listener);
  return both;
}

it('several listeners hear one after the other, and of a loss at once, whatever is under way', async () => {
  const heard: string[] = [];
  let goOn = (): void => undefined;
  const first = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const both = combined(listening(heard, 'first', first), listening(heard, 'second'));
  const gaining = both.acquired([1]);
  both.lost([1]);
  goOn();
  await gaining;
  await both.releasing([1], new AbortController().signal);
  expect(heard).toEqual([
    'first lost',
    'second lost',
    'first acquired',
    'second acquired',
    'first releasing',
    'second releasing',
  ]);
});

it('those behind one that fails hear nothing of it', async () => {
  const heard: string[] = [];
  const both = combined(listening(heard, 'first', Promise.reject(new Error('no'))), listening(heard, 'second'));
  await expect(both.acquired([1])).rejects.toThrow('no');
  expect(heard).toEqual([]);
});

it('every listener for lost replicas hears the URL of one that is gone', () => {
  const heard: string[] = [];
  const listeners = new OwnershipListeners();
  for (const name of ['first', 'second']) listeners.onReplicaGone((url) => heard.push(`${name} ${url}`));
  listeners.replicaGone('http://gone.test');
  expect(heard).toEqual(['first http://gone.test', 'second http://gone.test']);
});
