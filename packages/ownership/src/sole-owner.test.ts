import { describe, expect, it } from 'vitest';
import { partitionCount } from './partitions.js';
import { SoleOwner } from './sole-owner.js';
import { RecordingListener } from './testing/recording-listener.js';

describe('SoleOwner', () => {
  it('is the home of everything from its start until it drains', async () => {
    const listener = new RecordingListener();
    const home = new SoleOwner({ listener });
    await home.start();
    expect(listener.running.size).toBe(partitionCount);
    expect(listener.calls.length).toBe(1);
    expect(home.locate()).toEqual({ kind: 'local' });
    expect(await home.waitForOwner()).toEqual({ kind: 'local' });
    expect(home.tokenOf()).toBe(1);
    await home.drain(new AbortController().signal);
    expect(listener.running.size).toBe(0);
    await home.stop();
  });
});
