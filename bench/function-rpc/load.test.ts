import { describe, expect, it } from 'vitest';
import { runLoad } from './load.js';

describe('a load', () => {
  it('keeps as many calls in flight as it is told, and times each', async () => {
    let running = 0;
    let most = 0;
    const call = async (): Promise<void> => {
      most = Math.max(most, (running += 1));
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    };
    const result = await runLoad(call, { inFlight: 7, durationMs: 200 }, []);
    expect(most).toBe(7);
    expect(result.calls).toBeGreaterThanOrEqual(7);
    expect(result.latenciesUs).toHaveLength(result.calls);
  });

  it('fails when a call fails', async () => {
    const load = runLoad(() => Promise.reject(new Error('no')), { inFlight: 2, durationMs: 60_000 }, []);
    await expect(load).rejects.toThrow('no');
  });
});
