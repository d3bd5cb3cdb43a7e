import { describe, expect, it } from 'vitest';
import { SharedReads } from './shared-reads.js';

/** Reads that end when the test says so. */
function pausedReads() {
  const statements: { readonly keys: readonly string[]; readonly end: (error?: Error) => void }[] = [];
  const reads = new SharedReads<string>(
    (keys) =>
      new Promise((resolve, reject) => {
        const found = new Map(keys.filter((key) => key !== 'gone').map((key) => [key, `value of ${key}`]));
        statements.push({ keys, end: (error) => (error ? reject(error) : resolve(found)) });
      }),
  );
  return { reads, statements };
}

describe('reads of one moment', () => {
  it('share a statement once two are under way; each gets what it asked for', async () => {
    const { reads, statements } = pausedReads();
    const answers = ['a', 'b', 'c', 'gone', 'c'].map((key) => reads.get(key));
    expect(statements.map(({ keys }) => keys)).toEqual([['a'], ['b']]);
    statements[0]?.end();
    await answers[0];
    expect(statements.map(({ keys }) => keys)).toEqual([['a'], ['b'], ['c', 'gone']]);
    statements[1]?.end();
    statements[2]?.end();
    expect(await Promise.all(answers)).toEqual(['value of a', 'value of b', 'value of c', undefined, 'value of c']);
  });

  it('fail together, and the next ones are read', async () => {
    const { reads, statements } = pausedReads();
    const answers = ['a', 'b', 'c'].map((key) => reads.get(key));
    statements[0]?.end(new Error('away'));
    await expect(answers[0]).rejects.toThrow('away');
    statements[1]?.end();
    statements[2]?.end();
    expect(await Promise.all(answers.slice(1))).toEqual(['value of b', 'value of c']);
  });
});
