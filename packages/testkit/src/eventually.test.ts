import { describe, expect, it } from 'vitest';
import { eventually } from './eventually.js';

describe('eventually', () => {
  it('returns what the claim returns once it holds', async () => {
    let tries = 0;
    const claim = (): string => {
      tries += 1;
      if (tries < 3) throw new Error('not yet');
      return 'held';
    };
    await expect(eventually(claim)).resolves.toBe('held');
    expect(tries).toBe(3);
  });

  it('takes false for a no and nothing for a yes', async () => {
    let tries = 0;
    await eventually(() => ++tries >= 2);
    expect(tries).toBe(2);
    await expect(eventually(() => undefined)).resolves.toBeUndefined();
  });

  it('fails with what the claim said last', async () => {
    let tries = 0;
    const failing = eventually(() => Promise.reject(new Error(`try ${++tries}`)), 40);
    await expect(failing).rejects.toThrow(/^try \d+$/);
    await expect(failing).rejects.toThrow(`try ${tries}`);
  });

  it('fails with the claim itself and the time when all it said was false', async () => {
    const isThere = (): boolean => false;
    await expect(eventually(() => isThere(), 20)).rejects.toThrow('not true within 20 ms: () => isThere()');
  });

  it('fails in time also when the claim does not answer', async () => {
    await expect(eventually(() => new Promise<void>(() => undefined), 20)).rejects.toThrow('no answer within 20 ms');
  });
});
