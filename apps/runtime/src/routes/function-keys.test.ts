import { describe, expect, it } from 'vitest';
import { deriveFunctionKeys } from './derived-keys.js';
import { MemoryFunctionKeys } from './function-keys.js';
import { RequestGate } from './request-gate.js';

describe('function keys', () => {
  const data = deriveFunctionKeys('master', 'tenant/app', ['one', 'Two']);
  const keys = new MemoryFunctionKeys(data);

  it('are each another, the same after every start, and of no use for another application', () => {
    const keysOf = ({ functionKeys, functions }: typeof data): (string | undefined)[] =>
      [functionKeys, functions['one'], functions['Two']].map((owned) => owned?.['default']);
    const elsewhere = deriveFunctionKeys('master', 'tenant/other', ['one', 'Two']);
    const all = [...keysOf(data), ...keysOf(elsewhere)];
    expect(new Set(all).size).toBe(6);
    for (const key of all) expect(key).toMatch(/^[\w-]{43}$/);
    expect(deriveFunctionKeys('master', 'tenant/app', ['one', 'Two'])).toEqual(data);
  });

  it('belong to their function, whatever its case, and to no other', () => {
    const one = data.functions['one']?.['default'] ?? '';
    expect(keys.present(one).isFor({ kind: 'function', name: 'ONE' })).toBe(true);
    expect(keys.present(one).isFor({ kind: 'function', name: 'two' })).toBe(false);
    expect(keys.present(one).isFor({ kind: 'function', name: '__proto__' })).toBe(false);
    expect(keys.present(one).isFor({ kind: 'host' })).toBe(false);
  });

  it('do not show themselves', () => {
    expect(JSON.stringify([keys, keys.master, keys.list({ kind: 'host' })])).not.toContain(
      data.functionKeys['default'],
    );
  });
});

describe('RequestGate', () => {
  const open = new AbortController().signal;

  it('admits every request without limits', () => {
    const gate = new RequestGate({ maxConcurrentRequests: undefined, maxOutstandingRequests: undefined });
    for (let count = 0; count < 1_000; count += 1) expect(gate.enter(open)).toBe(true);
    expect(gate.outstanding).toBe(1_000);
  });

  it('hands places on in the order in which they were asked for', async () => {
    const gate = new RequestGate({ maxConcurrentRequests: 1, maxOutstandingRequests: undefined });
    const order: number[] = [];
    expect(gate.enter(open)).toBe(true);
    const waiting = [1, 2, 3].map((number) => Promise.resolve(gate.enter(open)).then(() => order.push(number)));
    for (let count = 0; count < 3; count += 1) gate.leave();
    await Promise.all(waiting);
    expect([order, gate.outstanding]).toEqual([[1, 2, 3], 1]);
  });

  it('removes requests that are cancelled while queued', async () => {
    const gate = new RequestGate({ maxConcurrentRequests: 1, maxOutstandingRequests: 2 });
    expect(gate.enter(open)).toBe(true);
    const abort = new AbortController();
    const waiting = gate.enter(abort.signal);
    expect(gate.enter(open)).toBe(false);
    abort.abort();
    expect(await waiting).toBe(false);
    expect(gate.outstanding).toBe(1);
    gate.leave();
    expect(gate.outstanding).toBe(0);
  });
});
