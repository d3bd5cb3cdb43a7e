import { FakeClock } from '@drover/testkit';
import type { LookupAddress } from 'node:dns';
import { describe, expect, it } from 'vitest';
import { NameResolver } from './name-resolver.js';

const somewhere: readonly LookupAddress[] = [{ address: '8.8.8.8', family: 4 }];

/** Names that were asked for, with the way to answer each. */
function slowLookup() {
  const asked: { readonly name: string; readonly answer: (fails?: boolean) => void }[] = [];
  const lookup = (name: string) =>
    new Promise<readonly LookupAddress[]>((resolve, reject) => {
      asked.push({ name, answer: (fails = false) => (fails ? reject(new Error('no')) : resolve(somewhere)) });
    });
  return { asked, lookup };
}

describe('NameResolver', () => {
  it('looks a name up once for concurrent callers, and again after a second', async () => {
    const { asked, lookup } = slowLookup();
    const clock = new FakeClock();
    const names = new NameResolver(lookup, clock);
    const answers = [names.resolve('a.test'), names.resolve('a.test')];
    await clock.advance(5_000);
    answers.push(names.resolve('a.test'));
    expect(asked).toHaveLength(1);
    asked[0]?.answer();
    expect(await Promise.all(answers)).toEqual([somewhere, somewhere, somewhere]);
    await clock.advance(999);
    await names.resolve('a.test');
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    const again = names.resolve('a.test');
    asked[1]?.answer();
    await again;
    expect(asked).toHaveLength(2);
  });

  it('does not remember that a name was unknown', async () => {
    const { asked, lookup } = slowLookup();
    const names = new NameResolver(lookup, new FakeClock());
    const failing = [names.resolve('a.test'), names.resolve('a.test')];
    asked[0]?.answer(true);
    for (const answer of await Promise.allSettled(failing)) expect(answer.status).toBe('rejected');
    const again = names.resolve('a.test');
    asked[1]?.answer();
    expect(await again).toBe(somewhere);
  });

  it('asks for three names at a time, then for the next in line, and refuses when the line is too long', async () => {
    const { asked, lookup } = slowLookup();
    const names = new NameResolver(lookup, new FakeClock());
    const answers = Array.from({ length: 1_003 }, (_, index) => names.resolve(`${index}.test`));
    await expect(names.resolve('late.test')).rejects.toMatchObject({ code: 'EAI_AGAIN' });
    for (let next = 0; next < answers.length; next += 1) {
      expect(asked.length - next).toBeLessThanOrEqual(3);
      asked[next]?.answer();
      await answers[next];
    }
    expect(asked.map(({ name }) => name)).toEqual(Array.from({ length: 1_003 }, (_, index) => `${index}.test`));
    const after = names.resolve('after.test');
    asked.at(-1)?.answer();
    expect(await after).toBe(somewhere);
  });
});
