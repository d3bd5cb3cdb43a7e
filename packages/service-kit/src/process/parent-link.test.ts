import { EventEmitter } from 'node:events';
import { defineError } from '@drover/contracts';
import { describe, expect, it, vi } from 'vitest';
import { configurationInvalid } from '../errors.js';
import { failureReport, isProcessReport, parentLink, type ParentLink } from './parent-link.js';

class FakeHost extends EventEmitter {
  connected = true;
  readonly sent: unknown[] = [];

  send(message: unknown, done: (error: Error | null) => void): boolean {
    if (this.connected) this.sent.push(message);
    const error = this.connected ? null : new Error('channel closed');
    setImmediate(() => done(error));
    return true;
  }

  disconnect(): void {
    this.connected = false;
    this.emit('disconnect');
  }
}

function arrange(): { readonly host: FakeHost; readonly link: ParentLink } {
  const host = new FakeHost();
  const link = parentLink(host as unknown as NodeJS.Process); // as much of a process as the link uses
  if (!link) throw new Error('there is a channel');
  return { host, link };
}

describe('parentLink', () => {
  it('is absent in a process without an IPC channel', () => {
    expect(parentLink(new EventEmitter() as unknown as NodeJS.Process)).toBeUndefined();
  });

  it('delivers a report before it resolves', async () => {
    const { host, link } = arrange();
    await link.report({ type: 'ready', announcement: { url: 'http://127.0.0.1:1' } });
    expect(host.sent).toEqual([{ type: 'ready', announcement: { url: 'http://127.0.0.1:1' } }]);
  });

  it('does not fail when the parent is gone by the time of a report', async () => {
    const { host, link } = arrange();
    host.connected = false;
    await expect(link.report({ type: 'ready', announcement: {} })).resolves.toBeUndefined();
  });

  it('calls back once when the parent exits', () => {
    const { host, link } = arrange();
    const lost = vi.fn<() => void>();
    link.onLost(lost);
    host.disconnect();
    host.emit('disconnect');
    expect(lost).toHaveBeenCalledOnce();
  });

  it('calls back at once when the parent has exited before', () => {
    const { host, link } = arrange();
    host.disconnect();
    const lost = vi.fn<() => void>();
    link.onLost(lost);
    expect(lost).toHaveBeenCalledOnce();
  });

  it('closes the channel without calling that a loss, and leaves listeners of others alone', () => {
    const { host, link } = arrange();
    const [lost, other] = [vi.fn<() => void>(), vi.fn<() => void>()];
    host.on('disconnect', other);
    link.onLost(lost);
    link.close();
    link.close();
    expect(host.connected).toBe(false);
    expect(lost).not.toHaveBeenCalled();
    expect(other).toHaveBeenCalledOnce();
  });
});

describe('isProcessReport', () => {
  it('knows both reports', () => {
    expect(isProcessReport({ type: 'ready', announcement: {} })).toBe(true);
    expect(isProcessReport({ type: 'ready', announcement: { url: 'x' }, later: 1 })).toBe(true);
    expect(isProcessReport(failureReport(new Error('x')))).toBe(true);
  });

  it.each([
    [undefined],
    [null],
    ['ready'],
    [[]],
    [{}],
    [{ type: 'other' }],
    [{ type: 'ready' }],
    [{ type: 'ready', announcement: null }],
    [{ type: 'ready', announcement: ['x'] }],
    [{ type: 'ready', announcement: { port: 1 } }],
    [{ type: 'failed', code: 'X' }],
    [{ type: 'failed', code: 1, message: 'x' }],
  ])('refuses %j', (message) => {
    expect(isProcessReport(message)).toBe(false);
  });
});

describe('failureReport', () => {
  const refusal = configurationInvalid({ process: 'p', problems: ['x'] });

  it('carries the code of an error that has one', () => {
    expect(failureReport(refusal)).toMatchObject({ code: 'CONFIGURATION_INVALID', message: refusal.message });
    expect(failureReport(new Error('x'))).toEqual({
      type: 'failed',
      code: 'PROCESS_FAILED',
      message: 'x',
      retryable: false,
    });
    expect(failureReport('text')).toMatchObject({ code: 'PROCESS_FAILED', message: 'text' });
  });

  it('says whether the same start may succeed later', () => {
    const away = defineError('AWAY_FOR_TEST', {
      fault: 'platform',
      retryable: true,
      status: 503,
      message: () => 'x',
      help: '',
    });
    expect(failureReport(new AggregateError([away({})], 'x'))).toMatchObject({ retryable: true });
    expect(failureReport(refusal)).toMatchObject({ retryable: false });
  });

  it('names all of several failures, under the first code among them', () => {
    expect(failureReport(new AggregateError([new Error('a'), refusal], 'both'))).toMatchObject({
      code: 'CONFIGURATION_INVALID',
      message: `both: a; ${refusal.message}`,
    });
  });
});
