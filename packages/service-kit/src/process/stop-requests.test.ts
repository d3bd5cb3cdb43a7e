import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { ParentLink } from './parent-link.js';
import { stopRequests } from './stop-requests.js';

function arrange() {
  const host = new EventEmitter();
  let lose = (): void => undefined;
  const parent: ParentLink = {
    report: () => Promise.resolve(),
    onLost: (action) => {
      lose = action;
    },
    close: () => undefined,
  };
  const requests = stopRequests(host as unknown as NodeJS.Process, parent); // only its events are used
  const act = {
    term: () => host.emit('SIGTERM', 'SIGTERM'),
    int: () => host.emit('SIGINT', 'SIGINT'),
    lose: () => lose(),
  };
  const does = (...acts: (keyof typeof act)[]) => {
    for (const one of acts) act[one]();
    return [requests.first.aborted, requests.second.aborted];
  };
  return { requests, does };
}

describe('stopRequests', () => {
  it('treats the first signal as a request and the second as a demand to skip the drain', () => {
    const { requests, does } = arrange();
    expect(does()).toEqual([false, false]);
    expect(does('term')).toEqual([true, false]);
    expect(does('int')).toEqual([true, true]);
    expect(requests.first.reason).toMatchObject({ name: 'AbortError', message: 'received SIGTERM' });
    expect(requests.second.reason).toMatchObject({ message: 'received SIGINT' });
  });

  it('treats the death of the parent as a request', () => {
    const { requests, does } = arrange();
    expect(does('lose')).toEqual([true, false]);
    expect(requests.first.reason).toMatchObject({ message: 'its parent process has exited' });
  });

  it('treats the death of the parent and the SIGTERM of its leash as one request, in either order', () => {
    expect(arrange().does('lose', 'term')).toEqual([true, false]);
    expect(arrange().does('term', 'lose')).toEqual([true, false]);
    expect(arrange().does('lose', 'term', 'term')).toEqual([true, true]);
  });
});
