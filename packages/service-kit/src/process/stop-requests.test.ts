import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Launcher } from './launcher.js';
import type { ParentLink } from './parent-link.js';
import { stopRequests } from './stop-requests.js';

function arrange(sources: { readonly parent?: boolean; readonly launcher?: boolean } = {}) {
  const host = new EventEmitter();
  let lose = (): void => undefined;
  let nowMs = 5_000;
  const onLost = (action: () => void): void => {
    lose = action;
  };
  const parent: ParentLink = { report: () => Promise.resolve(), onLost, close: () => undefined };
  const launcher: Launcher = { onLost };
  // Only its events are used.
  const requests = stopRequests(host as unknown as NodeJS.Process, {
    ...(sources.parent && { parent }),
    ...(sources.launcher && { launcher }),
    nowMs: () => nowMs,
  });
  const act = {
    term: () => host.emit('SIGTERM', 'SIGTERM'),
    int: () => host.emit('SIGINT', 'SIGINT'),
    hangUp: () => host.emit('SIGHUP', 'SIGHUP'),
    lose: () => lose(),
    wait: () => (nowMs += 1_000),
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

  it('treats a closed terminal as a request', () => {
    const { requests, does } = arrange();
    expect(does('hangUp')).toEqual([true, false]);
    expect(requests.first.reason).toMatchObject({ message: 'received SIGHUP' });
  });

  it('treats the death of the parent as a request', () => {
    const { requests, does } = arrange({ parent: true });
    expect(does('lose')).toEqual([true, false]);
    expect(requests.first.reason).toMatchObject({ message: 'its parent process has exited' });
  });

  it('treats the death of the parent and the SIGTERM of its leash as one request, in either order', () => {
    expect(arrange({ parent: true }).does('lose', 'term')).toEqual([true, false]);
    expect(arrange({ parent: true }).does('term', 'lose')).toEqual([true, false]);
    expect(arrange({ parent: true }).does('term', 'lose', 'term')).toEqual([true, false]);
    expect(arrange({ parent: true }).does('lose', 'term', 'term')).toEqual([true, true]);
  });

  it('treats the signals of a service manager and of the parent as one request, however far apart', () => {
    expect(arrange({ parent: true }).does('term', 'wait', 'term')).toEqual([true, false]);
  });

  it('treats the signal that a launcher forwards as the same request, and a later one as a second', () => {
    expect(arrange({ launcher: true }).does('int', 'int')).toEqual([true, false]);
    expect(arrange({ launcher: true }).does('int', 'int', 'wait', 'int')).toEqual([true, true]);
  });

  it('treats the death of the launcher as a request', () => {
    const { requests, does } = arrange({ launcher: true });
    expect(does('lose')).toEqual([true, false]);
    expect(requests.first.reason).toMatchObject({ message: 'the package manager that started it has exited' });
  });
});
