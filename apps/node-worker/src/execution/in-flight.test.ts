import { StatusResultStatus } from '@drover/function-rpc';
import { describe, expect, it } from 'vitest';
import { ContextSignals } from './context-signal.js';
import { InFlight } from './in-flight.js';
import { invocationOf, loadedFunction, plainModel } from './invocation.test.fixture.js';

const loaded = loadedFunction(plainModel);

describe('InFlight', () => {
  it('is idle when the last invocation is gone', async () => {
    const inFlight = new InFlight();
    const [a, b] = [invocationOf(loaded, { invocationId: 'a' }), invocationOf(loaded, { invocationId: 'b' })];
    inFlight.add(a.invocation);
    inFlight.add(b.invocation);
    let isIdle = false;
    const idle = inFlight.idle().then(() => (isIdle = true));
    inFlight.remove(a.invocation);
    await Promise.resolve();
    expect([inFlight.size, isIdle, inFlight.byFunction]).toEqual([1, false, { test: 1 }]);
    inFlight.remove(b.invocation);
    await idle;
    expect(inFlight.size).toBe(0);
  });

  it('abandons the invocations of a stream that is lost, and of no other', () => {
    const inFlight = new InFlight();
    const [lost, kept] = [
      invocationOf(loaded, { invocationId: 'lost' }),
      invocationOf(loaded, { invocationId: 'kept' }),
    ];
    inFlight.add(lost.invocation);
    inFlight.add(kept.invocation);
    expect(inFlight.abandon(lost.stream, 'gone')).toBe(1);
    expect(lost.invocation.signal.aborted).toBe(true);
    expect(kept.invocation.signal.aborted).toBe(false);
    expect(inFlight.find('lost')).toBeUndefined();
    expect(inFlight.findRunning('lost')).toBe(lost.invocation);
    inFlight.remove(lost.invocation);
    expect(inFlight.findRunning('lost')).toBeUndefined();
  });

  it('does not take an invocation for another of the same id', () => {
    const inFlight = new InFlight();
    const [before, after] = [invocationOf(loaded), invocationOf(loaded)];
    inFlight.add(before.invocation);
    inFlight.abandon(before.stream, 'gone');
    inFlight.add(after.invocation);
    inFlight.remove(before.invocation);
    expect(inFlight.find('id')).toBe(after.invocation);
  });
});

describe('an invocation that is cancelled', () => {
  it('aborts a signal that is read afterwards as well, with the first reason', () => {
    const { invocation } = invocationOf(loaded);
    invocation.cancel('first');
    invocation.cancel('second');
    expect(invocation.signal.reason).toMatchObject({ name: 'AbortError', message: 'first' });
  });

  it('has a result of its own only when it gave up because of that', () => {
    const { invocation } = invocationOf(loaded);
    const abort = new DOMException('stop', 'AbortError');
    expect(invocation.resultOf(abort).status).toBe(StatusResultStatus.Failure);
    invocation.cancel('now');
    expect(invocation.resultOf(abort).status).toBe(StatusResultStatus.Cancelled);
    expect(invocation.resultOf(new Error('other')).status).toBe(StatusResultStatus.Failure);
  });
});

describe('the signal of a context', () => {
  class LibraryContext {
    invocationId: string;
    constructor(invocationId: string) {
      this.invocationId = invocationId;
    }
  }
  const signalOf = (context: object): unknown => (context as { signal?: unknown }).signal;

  it('is that of its invocation, for every object of a class', () => {
    const inFlight = new InFlight();
    const signals = new ContextSignals(inFlight);
    const [a, b] = [
      invocationOf(loaded, { invocationId: 'a' }).invocation,
      invocationOf(loaded, { invocationId: 'b' }).invocation,
    ];
    const contexts = [a, b].map((invocation) => {
      inFlight.add(invocation);
      const context = new LibraryContext(invocation.invocationId);
      signals.addTo(context, invocation);
      return context;
    });
    expect(contexts.map(signalOf)).toEqual([a.signal, b.signal]);
    expect(Object.keys(contexts[0] ?? {})).toEqual(['invocationId']);
  });

  it('is one that never aborts when the invocation is over, or never was', () => {
    expect(signalOf(new LibraryContext('unknown'))).toMatchObject({ aborted: false });
  });

  it('is put on a plain object itself, and on no class that has one already', () => {
    const signals = new ContextSignals(new InFlight());
    const { invocation } = invocationOf(loaded);
    const plain = {};
    signals.addTo(plain, invocation);
    expect(signalOf(plain)).toBe(invocation.signal);
    expect('signal' in {}).toBe(false);
    class Own {
      signal = 'own';
    }
    const own = new Own();
    signals.addTo(own, invocation);
    expect(own.signal).toBe('own');
    for (const odd of [undefined, 5, Object.freeze({})]) signals.addTo(odd, invocation);
  });
});
