import { expect, it } from 'vitest';
import { inTurn } from './in-turn.js';
import type { HomeListener } from './location.js';

function listening(heard: string[], name: string, until: Promise<void> = Promise.resolve()): HomeListener {
  return {
    async gained() {
      await until;
      heard.push(`${name} gained`);
    },
    async leaving() {
      await until;
      heard.push(`${name} leaving`);
    },
    lost: () => void heard.push(`${name} lost`),
  };
}

it('several listeners hear one after the other, and of a loss at once, whatever is under way', async () => {
  const heard: string[] = [];
  let goOn = (): void => undefined;
  const first = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const both = inTurn([listening(heard, 'first', first), listening(heard, 'second')]);
  const gaining = both.gained([1]);
  both.lost([1]);
  goOn();
  await gaining;
  await both.leaving([1], new AbortController().signal);
  expect(heard).toEqual([
    'first lost',
    'second lost',
    'first gained',
    'second gained',
    'first leaving',
    'second leaving',
  ]);
});

it('those behind one that fails hear nothing of it', async () => {
  const heard: string[] = [];
  const both = inTurn([listening(heard, 'first', Promise.reject(new Error('no'))), listening(heard, 'second')]);
  await expect(both.gained([1])).rejects.toThrow('no');
  expect(heard).toEqual([]);
});
