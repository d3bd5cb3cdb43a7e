import { describe, expect, it } from 'vitest';
import { selfTimes } from './cpu-profile.js';

const frame = (functionName: string, url = '') => ({
  functionName,
  url,
  scriptId: '0',
  lineNumber: 4,
  columnNumber: 0,
});
const profile = {
  startTime: 1_000,
  endTime: 1_060,
  nodes: [
    { id: 1, callFrame: frame('(idle)') },
    { id: 2, callFrame: frame('invoke', 'file:///home/me/apps/runtime/dist/invoker.js') },
    { id: 3, callFrame: frame('(garbage collector)') },
  ],
  samples: [2, 1, 2, 3, 2, 3],
  timeDeltas: [10, 10, 10, 10, 10, 10],
};

describe('a CPU profile', () => {
  it('gives each function its share of the samples, most first, without those in which nothing ran', () =>
    expect(selfTimes(profile)).toEqual([
      { what: 'invoke apps/runtime/dist/invoker.js:5', share: 0.6 },
      { what: '(garbage collector)', share: 0.4 },
    ]));

  it('can be looked at between two moments only', () =>
    expect(selfTimes(profile, 1_035, 1_055)).toEqual([
      { what: '(garbage collector)', share: 0.5 },
      { what: 'invoke apps/runtime/dist/invoker.js:5', share: 0.5 },
    ]));
});
