import { describe, expect, it } from 'vitest';
import { awkwardPayloads, acceptedCallAt } from '../testing/sample-executions.js';
import { acceptedEntry, readEntries, retryEntry } from './journal-entry.js';
import { fromColumn, quoted, toColumn } from './text-columns.js';

const failure = { attempt: 1, startedAt: 1, finishedAt: 2, error: { code: 'A', message: 'two\nlines' } };

describe('journal entries', () => {
  it('are read back unchanged and in order, whatever they contain', () => {
    const calls = [
      acceptedCallAt(1_000),
      ...Object.values(awkwardPayloads).map((json) => acceptedCallAt(2_000, { json })),
      acceptedCallAt(3_000, { payload: { json: '""', encoding: 'base64' }, functionName: 'ü "\n' }),
      acceptedCallAt(4_000, { traceId: 'trace\n"' }),
      acceptedCallAt(4_000, { traceparent: '00-1-2-01' }),
      acceptedCallAt(5_000, { traceId: 'a', traceparent: 'b', tracestate: 'c', runAt: 0, metadata: {}, kind: 'sync' }),
      acceptedCallAt(6_000, { idempotencyKey: '', headers: { a: 'b' }, callbackUrl: 'c', replayOf: 'd' }),
    ];
    const text = calls.map((accepted, n) => acceptedEntry(accepted, n, n > 2 ? [failure] : [])).join('');
    expect(readEntries(text)).toEqual(
      calls.map((accepted, n) => ({
        kind: 'accepted',
        accepted,
        attempts: n,
        failures: n > 2 ? [failure] : [],
      })),
    );
  });

  it('record retries, with failures or without', () => {
    const text = retryEntry('a', 3, [failure]) + acceptedEntry(acceptedCallAt(1), 0, []) + retryEntry('b', 4);
    expect(readEntries(text)).toMatchObject([
      { kind: 'retry', executionId: 'a', attempts: 3, failures: [failure] },
      { kind: 'accepted' },
      { kind: 'retry', executionId: 'b', attempts: 4, failures: undefined },
    ]);
    expect(readEntries('')).toEqual([]);
  });

  it('are refused when they are incomplete or have another format', () => {
    const text = acceptedEntry(acceptedCallAt(1, { json: '"12345"' }), 0, []);
    for (let end = 1; end < text.length; end += 1) expect(() => readEntries(text.slice(0, end))).toThrow(SyntaxError);
    expect(() => readEntries('{"other":1}\n')).toThrow(SyntaxError);
  });
});

describe('text for columns', () => {
  it('is read back unchanged, stays distinct, and contains nothing that PostgreSQL refuses', () => {
    const texts = ['', 'plain-1', 'a b', '\u0000', String.raw`\u0000`, '\\', '"', '\ud800', '\ud801', 'ü', "'", '\n'];
    const columns = texts.map(toColumn);
    expect(columns.map(fromColumn)).toEqual(texts);
    expect(new Set(columns).size).toBe(texts.length);
    expect(columns.every((column) => !column.includes('\u0000') && Buffer.from(column).toString() === column)).toBe(
      true,
    );
    expect(texts.map((text) => JSON.parse(quoted(text)) as unknown)).toEqual(texts);
  });
});
