import { describe, expect, it } from 'vitest';
import { usualWatchMs, watchVersion } from './watch-version.js';

const watched = { app: 'shop', version: 'c2', generation: 4 };

/** A platform whose application has had these changes since the deployment. */
function platformWith(...changes: readonly { kind: string; traffic: Record<string, number>; reason: string }[]) {
  const traffic = changes[0]?.traffic ?? { c2: 100 };
  const shown = { application: { traffic }, changes: changes.map((change) => ({ generation: 5, ...change })) };
  return { getApplication: () => Promise.resolve(shown as never) }; // all that the watch reads
}

describe('the watch of a deployed version', () => {
  it('is the default in CI only', () => {
    expect(['true', '1', 'woodpecker'].map((CI) => usualWatchMs({ CI }))).toEqual([30_000, 30_000, 30_000]);
    expect([{}, { CI: '' }, { CI: 'false' }, { CI: '0' }].map(usualWatchMs)).toEqual([0, 0, 0, 0]);
  });

  it('tells a roll back from other changes of the traffic', async () => {
    const back = { kind: 'rolled-back-automatically', traffic: { c1: 100 }, reason: '30 of 40 calls failed' };
    const next = { kind: 'deployed', traffic: { c3: 100 }, reason: 'deployed with API key k' };
    const share = { kind: 'traffic', traffic: { c1: 50, c2: 50 }, reason: 'set with API key k' };
    expect(await watchVersion(platformWith(), watched, 1)).toEqual({ kind: 'kept' });
    expect(await watchVersion(platformWith(share), watched, 1)).toEqual({ kind: 'kept' });
    expect(await watchVersion(platformWith(next), watched, 1)).toEqual({ kind: 'replaced', by: next.reason });
    expect(await watchVersion(platformWith(back), watched, 60_000)).toEqual({
      kind: 'rolled-back',
      reason: back.reason,
    });
    expect(await watchVersion(platformWith(next, back), watched, 1)).toMatchObject({ kind: 'rolled-back' });
  });

  it('fails if the platform does not answer at its end', async () => {
    const away = { getApplication: () => Promise.reject(new Error('away')) };
    await expect(watchVersion(away, watched, 1)).rejects.toThrow('away');
  });
});
