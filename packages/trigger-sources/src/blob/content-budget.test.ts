import { describe, expect, it } from 'vitest';
import { ContentBudget, maxContentBytes } from './content-budget.js';

const never = new AbortController().signal;
const half = maxContentBytes;

describe('the budget of blob content', () => {
  it('lets as much in as fits, and the next one when there is room, in order', async () => {
    const budget = new ContentBudget();
    const first = await budget.acquire(half, never);
    const second = await budget.acquire(half, never);
    const admitted: string[] = [];
    const large = budget.acquire(half, never).then(() => admitted.push('large'));
    const small = budget.acquire(2_000_000, never).then(() => admitted.push('small'));
    await Promise.resolve();
    expect(admitted).toEqual([]);
    first();
    first(); // twice has no effect
    await large;
    expect(admitted).toEqual(['large']);
    second();
    await small;
    expect(admitted).toEqual(['large', 'small']);
  });

  it('does not hold up small blobs', async () => {
    const budget = new ContentBudget();
    await budget.acquire(half, never);
    await budget.acquire(half, never);
    await expect(budget.acquire(1_000, never)).resolves.toBeTypeOf('function');
  });

  it('forgets a caller that left, and lets those behind it in', async () => {
    const budget = new ContentBudget();
    const release = await budget.acquire(half, never);
    await budget.acquire(half / 2, never);
    const gone = new AbortController();
    const waiting = budget.acquire(half, gone.signal);
    const behind = budget.acquire(half / 2, never);
    gone.abort(new Error('it left'));
    await expect(waiting).rejects.toThrow('it left');
    await expect(behind).resolves.toBeTypeOf('function');
    release();
    await expect(budget.acquire(half, AbortSignal.abort(new Error('too late')))).resolves.toBeTypeOf('function');
  });
});
