import type { Randomness } from '@drover/service-kit';
import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { SourceWakeups } from '../source-wakeups.js';
import { MemoryTriggerStore } from '../store/memory-trigger-store.js';
import { MemoryQueueAccount, serviceError } from '../testing/memory-queue-account.js';
import type { Deliver, Delivery, Settlement } from '../trigger-source.js';
import { WrittenBlob } from './blob-container.js';
import { BlobListener } from './blob-listener.js';
import { foundQueue } from './blob-message.js';
import { blobTriggerOptions } from './blob-options.js';
import { BlobOutput } from './blob-output.js';
import { ContentBudget, maxContentBytes } from './content-budget.js';
import { MemoryBlobs } from './memory-blobs.test.fixture.js';
import type { BlobObservation } from './observations.js';

const never = new AbortController().signal;
const complete: Settlement = { kind: 'complete' };

/** A container, queues and a store in memory, on a clock that moves when told. */
class Bench {
  readonly clock = new FakeClock();
  readonly blobs = new MemoryBlobs(this.clock);
  readonly queues = new MemoryQueueAccount(this.clock);
  readonly store = new MemoryTriggerStore();
  readonly wakeups = new SourceWakeups();
  readonly observed: BlobObservation[] = [];
  readonly seen: Delivery[] = [];
  readonly #randomness: Randomness = seededRandomness(1);
  readonly #binding: Readonly<Record<string, unknown>>;

  constructor(binding: Readonly<Record<string, unknown>> = {}) {
    this.#binding = { path: 'box/{name}', ...binding };
  }

  get queue(): string {
    return foundQueue('app', 'resize');
  }

  get names(): string[] {
    return this.seen.map(({ data }) => Buffer.from(data as Uint8Array).toString());
  }

  listener(settle: (delivery: Delivery) => Settlement | Promise<Settlement> = () => complete): BlobListener {
    const deliver: Deliver = async (delivery) => {
      this.seen.push(delivery);
      return await settle(delivery);
    };
    return new BlobListener({
      application: 'app',
      functionName: 'resize',
      account: this.blobs,
      hostQueues: this.queues,
      ownQueues: this.queues,
      options: blobTriggerOptions({ functionName: 'resize', host: {}, binding: this.#binding, cores: 1 }),
      deliver,
      store: this.store,
      budget: new ContentBudget(),
      wakeups: this.wakeups,
      clock: this.clock,
      randomness: this.#randomness,
      observe: (observation) => void this.observed.push(observation as BlobObservation),
    });
  }

  async start(settle?: (delivery: Delivery) => Settlement | Promise<Settlement>): Promise<BlobListener> {
    const listener = this.listener(settle);
    await listener.start(never);
    await this.clock.advance(0);
    return listener;
  }

  /** Writes a blob through an output, which tells the listeners. */
  async write(name: string): Promise<void> {
    const output = new BlobOutput({
      functionName: 'make',
      account: this.blobs,
      options: { path: { container: 'box', name }, contentType: 'text/plain', dataType: 'bytes', isSdkBinding: false },
      wakeups: this.wakeups,
      clock: this.clock,
      randomness: this.#randomness,
      observe: () => undefined,
    });
    await output.send([{ body: name }], never);
  }

  /** Stops it, and lets time pass in which it ends what it does. */
  async stop(listener: BlobListener): Promise<void> {
    const stopped = listener.stop();
    await this.clock.advance(6_000);
    await stopped;
  }

  kinds<Kind extends BlobObservation['kind']>(kind: Kind): Extract<BlobObservation, { readonly kind: Kind }>[] {
    return this.observed.filter((one): one is Extract<BlobObservation, { readonly kind: Kind }> => one.kind === kind);
  }
}

describe('a blob listener', () => {
  it('runs what is there when it starts, and what comes, each version once', async () => {
    const bench = new Bench();
    bench.blobs.put('old');
    const listener = await bench.start();
    await bench.clock.advance(20_000);
    bench.blobs.put('new');
    await bench.clock.advance(20_000);
    bench.blobs.put('old', 'old again');
    await bench.clock.advance(60_000);
    expect(bench.names).toEqual(['old', 'new', 'old again']);
    await bench.stop(listener);
  });

  it('looks less and less often while nothing is new, and at once when an output of the process writes', async () => {
    const bench = new Bench({ scanInterval: '00:01:00' });
    const listener = await bench.start();
    await bench.clock.advance(600_000);
    const before = bench.blobs.listed.length;
    await bench.clock.advance(600_000);
    expect(bench.blobs.listed.length - before).toBeGreaterThanOrEqual(9);
    expect(bench.blobs.listed.length - before).toBeLessThanOrEqual(11);
    bench.blobs.put('fresh');
    bench.wakeups.wake('memory/box');
    await bench.clock.advance(0);
    expect(bench.names).toEqual(['fresh']);
    await bench.stop(listener);
  });

  it('runs what an output of the process wrote without a listing, and once', async () => {
    const bench = new Bench({ scanInterval: '00:01:00' });
    const listener = await bench.start();
    await bench.clock.advance(600_000);
    bench.blobs.listed.length = 0;
    for (const name of ['one', 'two']) await bench.write(name);
    await bench.clock.advance(0);
    expect([bench.names, bench.blobs.listed]).toEqual([['one', 'two'], []]);
    await bench.clock.advance(300_000);
    expect(bench.blobs.listed.length).toBeGreaterThan(3);
    expect(bench.names).toEqual(['one', 'two']);
    await bench.stop(listener);
  });

  it('finds what an output wrote while another runtime scans, while the store fails, and while it sweeps', async () => {
    const bench = new Bench({ scanInterval: '00:00:02' });
    const first = await bench.start();
    const second = await bench.start();
    await bench.write('shared');
    await bench.clock.advance(10_000);
    expect(bench.names).toEqual(['shared']);
    await bench.stop(second);
    bench.queues.intercept = (operation) => {
      if (operation === 'send') throw new Error('network');
    };
    await bench.write('failed');
    await bench.clock.advance(5_000);
    bench.queues.intercept = () => undefined;
    await bench.clock.advance(40_000);
    bench.blobs.intercept = (operation) =>
      operation === 'list' ? new Promise((resolve) => void bench.clock.after(3_000, resolve)) : undefined;
    await bench.clock.advance(4_000);
    await bench.write('swept');
    await bench.clock.advance(60_000);
    expect(bench.names).toEqual(['shared', 'failed', 'swept']);
    await bench.stop(first);
  });

  it('rests after listings that take long, and not after blobs that take long to queue', async () => {
    const bench = new Bench();
    const after = (ms: number) => new Promise<void>((resolve) => void bench.clock.after(ms, resolve));
    bench.blobs.intercept = (operation) => (operation === 'list' ? after(5_000) : undefined);
    const slow = await bench.start();
    await bench.clock.advance(300_000);
    // A fifth of the time: five seconds of listing, twenty of rest, and the interval.
    expect(bench.blobs.listed.length).toBeLessThanOrEqual(12);
    await bench.stop(slow);
    bench.blobs.intercept = () => undefined;
    bench.queues.intercept = (operation) => (operation === 'send' ? after(1_000) : undefined);
    bench.blobs.listed.length = 0;
    for (let n = 0; n < 160; n += 1) bench.blobs.put(`blob ${n}`);
    const busy = await bench.start();
    await bench.clock.advance(15_000);
    expect(bench.blobs.listed.length).toBeGreaterThanOrEqual(2);
    await bench.stop(busy);
  });

  it('lists only what its path begins with, and runs only what matches', async () => {
    const bench = new Bench({ path: 'box/in/{name}.txt' });
    for (const name of ['aa.txt', 'in/a.txt', 'in/b.png', 'zz.txt']) bench.blobs.put(name);
    const listener = await bench.start();
    await bench.clock.advance(30_000);
    expect(bench.names).toEqual(['in/a.txt']);
    expect(new Set(bench.blobs.listed)).toEqual(new Set(['in/a.txt']));
    await bench.stop(listener);
  });

  it('runs nothing again after a restart', async () => {
    const bench = new Bench();
    bench.blobs.put('a');
    await bench.stop(await bench.start());
    bench.blobs.put('b');
    const listener = await bench.start();
    await bench.clock.advance(30_000);
    expect(bench.names).toEqual(['a', 'b']);
    await bench.stop(listener);
  });

  it('goes through a large container page by page, and goes on where another runtime stopped', async () => {
    const bench = new Bench();
    bench.blobs.pageSize = 10;
    for (let n = 0; n < 100; n += 1) bench.blobs.put(`blob ${String(n).padStart(3, '0')}`);
    await bench.clock.advance(60_000);
    let pages = 0;
    bench.blobs.intercept = (operation) => {
      if (operation === 'list') pages += 1;
      // The network of the first runtime ends in the middle of its first sweep.
      if (operation === 'list' && pages > 5) throw new Error('network');
    };
    const first = await bench.start();
    await bench.clock.advance(1_000);
    expect(bench.seen).toHaveLength(50);
    await bench.stop(first);
    bench.blobs.intercept = () => undefined;
    bench.blobs.listed.length = 0;
    const second = await bench.start();
    await bench.clock.advance(1_000);
    expect(bench.blobs.listed[0]).toBe('blob 050');
    expect(new Set(bench.names).size).toBe(100);
    expect(bench.seen).toHaveLength(100);
    await bench.stop(second);
  });

  it('keeps a small state, whatever the number of blobs', async () => {
    const bench = new Bench();
    const listener = await bench.start();
    for (let n = 0; n < 300; n += 1) {
      bench.blobs.put(`blob ${n}`);
      await bench.clock.advance(1_000);
    }
    await bench.clock.advance(60_000);
    expect(bench.seen).toHaveLength(300);
    const stored = await bench.store.read('blobs/app/resize', never);
    expect(stored?.value.length).toBeLessThan(1_000);
    await bench.stop(listener);
  });

  it('does not run a version that was deleted or replaced after it was found', async () => {
    const bench = new Bench();
    const listener = await bench.start();
    listener.pause();
    bench.blobs.put('gone');
    bench.blobs.put('replaced', 'one');
    await bench.clock.advance(15_000);
    bench.blobs.delete('gone');
    bench.blobs.put('replaced', 'two');
    await bench.clock.advance(15_000);
    listener.resume();
    await bench.clock.advance(15_000);
    expect(bench.names).toEqual(['two']);
    expect(bench.kinds('blob.skipped').map(({ blob, why }) => `${blob} ${why}`)).toEqual([
      'gone deleted',
      'replaced replaced',
    ]);
    expect(bench.queues.messages(bench.queue)).toEqual([]);
    await bench.stop(listener);
  });

  it('runs no more than maxDegreeOfParallelism at a time', async () => {
    const bench = new Bench({ maxDegreeOfParallelism: 5 });
    for (let n = 0; n < 40; n += 1) bench.blobs.put(`blob ${n}`);
    let [running, most] = [0, 0];
    const listener = await bench.start(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => void bench.clock.after(100, resolve));
      running -= 1;
      return complete;
    });
    await bench.clock.advance(60_000);
    expect([bench.seen.length, most]).toEqual([40, 5]);
    await bench.stop(listener);
  });

  it('tries a blob that fails as often as it may, then reports it, without delaying its neighbours', async () => {
    const bench = new Bench({ poisonBlobThreshold: 3 });
    bench.blobs.put('bad');
    bench.blobs.put('good');
    const listener = await bench.start(({ data }) =>
      String(data) === 'bad' ? { kind: 'abandon', delayMs: 5_000 } : complete,
    );
    await bench.clock.advance(1_000);
    expect(bench.names).toEqual(['bad', 'good']);
    await bench.clock.advance(60_000);
    expect(bench.seen.filter(({ data }) => String(data) === 'bad').map(({ deliveryCount }) => deliveryCount)).toEqual([
      1, 2, 3,
    ]);
    expect(bench.kinds('blob.redelivered')).toHaveLength(2);
    expect(bench.kinds('blob.poisoned')).toMatchObject([{ blob: 'bad', container: 'box', reason: 'failed 3 times' }]);
    const [poison] = bench.queues.messages('webjobs-blobtrigger-poison');
    expect(JSON.parse(Buffer.from(poison?.text ?? '', 'base64').toString())).toEqual({
      Type: 'BlobTrigger',
      FunctionId: 'Host.Functions.resize',
      BlobType: 'BlockBlob',
      ContainerName: 'box',
      BlobName: 'bad',
      ETag: '"1"',
    });
    await bench.stop(listener);
  });

  it('uses up no delivery of a blob while the blob service does not respond', async () => {
    const bench = new Bench({ poisonBlobThreshold: 2, leaseDuration: '00:00:30' });
    bench.blobs.put('a');
    bench.blobs.intercept = (operation) => {
      if (operation === 'open') throw serviceError('InternalError', 500);
    };
    const listener = await bench.start();
    await bench.clock.advance(300_000);
    expect(bench.kinds('blob.unavailable')).toMatchObject([{ failure: 'unavailable', setting: 'Shop' }]);
    bench.blobs.intercept = () => undefined;
    await bench.clock.advance(60_000);
    expect(bench.seen.map(({ deliveryCount }) => deliveryCount)).toEqual([1]);
    expect(bench.kinds('blob.available')).toHaveLength(1);
    await bench.stop(listener);
  });

  it('reports a blob that is larger than a worker takes, without reading it', async () => {
    const bench = new Bench();
    bench.blobs.put('huge');
    bench.blobs.size = maxContentBytes + 1;
    const listener = await bench.start();
    await bench.clock.advance(1_000);
    expect(bench.seen).toHaveLength(0);
    expect(bench.kinds('blob.poisoned')[0]?.reason).toContain(
      `Blob box/huge has ${maxContentBytes + 1} bytes, and a function worker takes ${maxContentBytes} at most`,
    );
    await bench.stop(listener);
  });

  it('waits for a container that does not exist, and says so once', async () => {
    const bench = new Bench();
    bench.blobs.exists = false;
    const listener = await bench.start();
    await bench.clock.advance(120_000);
    // A round without a listing does not end the episode.
    bench.wakeups.wake('memory/box', new WrittenBlob(bench.blobs.put('elsewhere')));
    await bench.clock.advance(120_000);
    bench.blobs.delete('elsewhere');
    expect(bench.kinds('blob.container-missing')).toHaveLength(1);
    expect(bench.kinds('blob.available')).toHaveLength(0);
    bench.blobs.exists = true;
    bench.blobs.put('first');
    await bench.clock.advance(15_000);
    expect(bench.names).toEqual(['first']);
    await bench.stop(listener);
  });

  it.each([
    [serviceError('AuthenticationFailed', 403), 'denied'],
    [serviceError('InternalError', 500), 'unavailable'],
    [serviceError('ServerBusy', 503), 'throttled'],
    [new Error('connect ECONNREFUSED'), 'unavailable'],
    [serviceError('InvalidQueryParameterValue', 400), 'refused'],
  ])('retries with growing delays, and observes once: %s', async (error, failure) => {
    const bench = new Bench();
    let requests = 0;
    bench.blobs.intercept = () => {
      requests += 1;
      throw error;
    };
    const listener = await bench.start();
    await bench.clock.advance(600_000);
    expect(bench.kinds('blob.unavailable')).toMatchObject([{ failure, setting: 'Shop', container: 'box' }]);
    expect(requests).toBeGreaterThan(15);
    expect(requests).toBeLessThan(50);
    bench.blobs.intercept = () => undefined;
    bench.blobs.put('after');
    await bench.clock.advance(40_000);
    expect(bench.names).toEqual(['after']);
    expect(bench.kinds('blob.available')).toHaveLength(1);
    await bench.stop(listener);
  });

  it('says once that found blobs cannot be queued, and queues them when they can be', async () => {
    const bench = new Bench();
    bench.blobs.put('a');
    bench.queues.intercept = (operation) => {
      if (operation === 'send') throw serviceError('AuthenticationFailed', 403);
    };
    const listener = await bench.start();
    await bench.clock.advance(300_000);
    expect(bench.kinds('blob.unavailable')).toMatchObject([{ failure: 'queue' }]);
    bench.queues.intercept = () => undefined;
    await bench.clock.advance(40_000);
    expect(bench.names).toEqual(['a']);
    expect(bench.kinds('blob.available')).toHaveLength(1);
    await bench.stop(listener);
  });

  it('ends a listing that hangs, and tries again', async () => {
    const bench = new Bench();
    bench.blobs.put('a');
    bench.blobs.intercept = () => new Promise(() => undefined);
    const listener = await bench.start();
    await bench.clock.advance(31_000);
    expect(bench.kinds('blob.unavailable')).toHaveLength(1);
    bench.blobs.intercept = () => undefined;
    await bench.clock.advance(40_000);
    expect(bench.names).toEqual(['a']);
    await bench.stop(listener);
  });

  it('is stopped in time, also while a request hangs', async () => {
    const bench = new Bench();
    bench.blobs.intercept = () => new Promise(() => undefined);
    const listener = await bench.start();
    await bench.stop(listener);
    expect(bench.clock.pending).toBe(0);
  });

  it('leaves the scan to one runtime; another one takes over when it ends, and when it falls silent', async () => {
    const bench = new Bench();
    const first = await bench.start();
    const second = await bench.start();
    await bench.clock.advance(60_000);
    const both = bench.blobs.listed.length;
    await bench.stop(second);
    bench.blobs.listed.length = 0;
    await bench.clock.advance(54_000);
    expect(bench.blobs.listed.length).toBeLessThanOrEqual(both);
    const third = await bench.start();
    await bench.stop(first);
    bench.blobs.put('after');
    await bench.clock.advance(15_000);
    expect(bench.names).toEqual(['after']);
    await bench.stop(third);
  });

  it('measures what was not found and what waits', async () => {
    const bench = new Bench();
    const listener = bench.listener(() => new Promise(() => undefined));
    expect(await listener.measure(never)).toMatchObject({ waiting: 0, oldestAgeMs: undefined });
    for (let n = 0; n < 3; n += 1) bench.blobs.put(`blob ${n}`);
    await bench.clock.advance(5_000);
    expect(await listener.measure(never)).toMatchObject({ waiting: 3, oldestAgeMs: 5_000 });
    await listener.start(never);
    listener.pause();
    await bench.clock.advance(15_000);
    bench.blobs.listed.length = 0;
    expect(await listener.measure(never)).toMatchObject({ waiting: 3 });
    const elsewhere = bench.listener();
    expect(await elsewhere.measure(never)).toMatchObject({ waiting: 3 });
    expect(bench.blobs.listed).toEqual([]); // a recent sweep is enough
    await bench.stop(listener);
    bench.blobs.put('while none scans');
    expect(await elsewhere.measure(never)).toMatchObject({ waiting: 4 });
    bench.blobs.pageSize = 2;
    expect(await elsewhere.measure(never)).toMatchObject({ waiting: 3, isAtLeast: true });
  });

  it('says why it cannot measure', async () => {
    const bench = new Bench();
    bench.blobs.intercept = () => {
      throw serviceError('AuthenticationFailed', 403);
    };
    const reason = { code: 'BLOB_UNAVAILABLE', message: expect.stringContaining('AuthenticationFailed') };
    await expect(bench.listener().measure(never)).rejects.toMatchObject(reason);
    // Also while it scans in vain: an old sweep says nothing about now.
    const listener = await bench.start();
    await bench.clock.advance(60_000);
    await expect(listener.measure(never)).rejects.toMatchObject(reason);
    await bench.stop(listener);
  });
});
