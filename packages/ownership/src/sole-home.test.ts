import { describe, expect, it } from 'vitest';
import { partitionCount } from './partitions.js';
import { SoleHome } from './sole-home.js';
import { RecordingListener } from './testing/recording-listener.js';

describe('SoleHome', () => {
  it('is the home of everything from its start until it drains', async () => {
    const listener = new RecordingListener();
    const home = new SoleHome({ listener });
    await home.start();
    expect(listener.running.size).toBe(partitionCount);
    expect(listener.told.length).toBe(1);
    expect(home.locate()).toEqual({ kind: 'here' });
    expect(await home.whenSettled()).toEqual({ kind: 'here' });
    expect(home.tokenOf()).toBe(1);
    await home.drain(new AbortController().signal);
    expect(listener.running.size).toBe(0);
    await home.stop();
  });
});
