import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SerializationError } from '../types/errors.js';
import { foreignBytes, hostileValues, partialViews } from './odd-values.test.fixture.js';
import type { WorkerClient } from '../types/worker.js';
import { drivers, failureOf, workerBench, type LooseStreams } from './test-bench.test.fixture.js';

const { open } = workerBench();

class Point {
  readonly x = 1;
  get y(): number {
    return 2;
  }
}
class Names extends Array<string> {
  toJSON(): string {
    return 'from toJSON';
  }
}
const bytes = Uint8Array.from({ length: 64 }, (_, index) => index);

/** What is easily lost on the way. */
const odd: readonly unknown[] = [
  [1, , 3, ,], // oxlint-disable-line no-sparse-arrays -- holes survive
  Object.assign([], { length: 5 }),
  Array.from({ length: 3 }),
  Names.from(['a', 'b']),
  new Point(),
  Object.create(null, { own: { value: 1, enumerable: true }, hidden: { value: 2 } }),
  Object.create({ inherited: 1 }, { own: { value: 1, enumerable: true } }),
  { [Symbol('left out')]: 1, kept: 1 },
  { toJSON: 1, ['__proto__x']: 2, constructor: 3, hasOwnProperty: 4 },
  JSON.parse('{"__proto__":{"polluted":true}}'),
  { 2: 'b', 1: 'a', z: 1, a: 2 },
  [-0, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER, 5e-324, 1n, -(2n ** 70n)],
  [Object(1), Object('text'), Object(false), Object(3n)],
  ['\ud800', '\udfff\ud800', '\u2028', '\0', `${'x'.repeat(5_000)}\ud800`, '😀'.repeat(3_000), 'ÿ'.repeat(5_000)],
  [new Date(0), /a+b/giu],
  [new Map([[{ key: 1 }, new Map([[Number.NaN, new Set([-0, undefined])]])]]), new Set()],
  [bytes, bytes.subarray(3, 9), bytes.slice(8).buffer, new DataView(bytes.buffer, 8, 16)],
  [Buffer.from('alone'), { when: new Date(1), buffer: Buffer.from('beside a date') }],
  [new Float32Array([1.5]), new BigInt64Array([1n]), new BigUint64Array([2n]), new Uint8ClampedArray([3])],
  [new Uint16Array(bytes.buffer, 2, 3), new Int8Array(0), new Int32Array([-1])],
  { nothing: undefined, list: [undefined, null] },
  { bytes: new Uint8Array(10_000).fill(7), text: 'x'.repeat(10_000), deep: [{ text: 'é'.repeat(5_000) }] },
  `${'ü'.repeat(400_000)}😀`,
  undefined,
  null,
];

const anything = fc.anything({
  maxDepth: 4,
  withBigInt: true,
  withBoxedValues: true,
  withDate: false, // invalid ones, which come with them, are not even equal to themselves
  withMap: true,
  withNullPrototype: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
  withUnicodeString: true,
});

describe.each(drivers)('$name: values arrive as structuredClone would make them', ({ driver }) => {
  it('whatever is odd about them, cyclic payloads included', async () => {
    const worker = await open({ driver });
    for (const value of odd) deepStrictEqual(await worker.send('echo', value), structuredClone(value));
    const ring: { self?: unknown; list: unknown[]; map: Map<string, unknown> } = { list: [], map: new Map() };
    ring.self = ring;
    ring.list.push(ring, ring.list);
    ring.map.set('ring', ring);
    const back = (await worker.send('echo', ring)) as typeof ring;
    expect(back.self).toBe(back);
    expect(back.list[0]).toBe(back);
    expect(back.list[1]).toBe(back.list);
    expect(back.map.get('ring')).toBe(back);
    const error = (await worker.send('echo', new TypeError('as a value', { cause: new Error('why') }))) as Error;
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: 'TypeError', message: 'as a value', cause: { message: 'why' } });
  });

  it('as worker data too, however large, and for every life', async () => {
    const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `customer ${id}` }));
    for (const workerData of [
      { text: 'ü'.repeat(1024 * 1024), map: new Map([['at', new Date(5)]]), buffer: Buffer.from('bytes') },
      rows,
    ]) {
      const worker = await open({ driver, workerData });
      deepStrictEqual(await worker.send('workerData'), structuredClone(workerData));
      if (workerData !== rows) continue;
      await failureOf(worker.send('die'));
      deepStrictEqual(await worker.send('workerData'), rows);
    }
    const error = await failureOf(open({ driver, workerData: { deep: () => 1 } }));
    expect(error).toBeInstanceOf(SerializationError);
    expect(error.message).toContain('workerData cannot be sent');
  });

  it('with memory of their own: no bytes arrive beside those of a view', async () => {
    const workerData = partialViews();
    const worker = await open({ driver, workerData, hostHandlers: { echo: (value: unknown) => value } });
    const foreign = (value: unknown): unknown => worker.send('foreignBytes', value);
    expect(await foreign(workerData)).toBe(0);
    for (const value of workerData) expect(await foreign(value)).toBe(0);
    expect(await worker.send('foreignBytesOf', 'workerData')).toBe(0);
    expect(await worker.send('foreignBytesOf', 'host')).toBe(0);
    const seen: unknown[] = [];
    const result = await worker.send('partialViews', undefined, { onProgress: (value) => seen.push(value) });
    const thrown = await failureOf(worker.send('throwPartialViews'));
    expect(foreignBytes([result, seen, thrown['details'], thrown.cause])).toBe(0);
    deepStrictEqual(seen, [result]);
    deepStrictEqual(thrown['details'], result);
  });

  it('whatever they are made of', async () => {
    const worker = await open({ driver });
    const holds = fc.asyncProperty(anything, async (value) => {
      deepStrictEqual(await worker.send('echo', value), structuredClone(value));
    });
    await expect(fc.assert(holds, { numRuns: 400 })).resolves.toBeUndefined();
  });
});

describe.each(drivers)('$name: a value that throws when it is looked at', ({ driver }) => {
  it('fails its request only, whichever way it goes', async () => {
    const worker = await open({
      driver,
      hostHandlers: {
        echo: (value: unknown) => value,
        value: (name: unknown) => hostileValues[String(name)],
        error: (name: unknown) => {
          throw hostileValues[String(name)];
        },
      },
    });
    const first = await worker.send('who');
    const neighbour = new AbortController();
    const hanging = failureOf(worker.send('hang', undefined, { signal: neighbour.signal }));
    for (const [name, value] of Object.entries(hostileValues)) {
      expect(await failureOf(worker.send('echo', value))).toBeInstanceOf(SerializationError);
      for (const way of ['result', 'later result', 'error', 'rejection', 'progress', 'question'])
        expect(await failureOf(worker.send('hostile', [way, name]))).toBeInstanceOf(Error);
      const items = (worker as unknown as WorkerClient<LooseStreams>).stream('hostileItem', name);
      expect(await failureOf(items.next() as Promise<unknown>)).toBeInstanceOf(Error);
      for (const type of ['value', 'error'])
        expect(await failureOf(worker.send('askHost', [type, name]))).toBeInstanceOf(Error);
    }
    expect(await worker.send('who')).toBe(first);
    neighbour.abort();
    expect(await hanging).toBe(neighbour.signal.reason);
  });
});
