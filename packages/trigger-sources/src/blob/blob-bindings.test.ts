import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { SourceWakeups } from '../source-wakeups.js';
import { serviceError } from '../testing/memory-queue-account.js';
import { readBlobInput } from './blob-input.js';
import type { BlobBindingOptions } from './blob-options.js';
import { BlobOutput } from './blob-output.js';
import { ContentBudget, maxContentBytes } from './content-budget.js';
import { MemoryBlobs } from './memory-blobs.test.fixture.js';
import type { BlobObservation } from './observations.js';

const options: BlobBindingOptions = {
  path: { container: 'box', name: 'a.txt' },
  contentType: 'text/plain',
  dataType: 'bytes',
  isSdkBinding: false,
};

function bench() {
  const clock = new FakeClock();
  const blobs = new MemoryBlobs(clock);
  const wakeups = new SourceWakeups();
  const observed: BlobObservation[] = [];
  const randomness = seededRandomness(1);
  const gone = new AbortController();
  const io = { account: blobs, options, clock, randomness };
  const output = new BlobOutput({
    ...io,
    functionName: 'make',
    wakeups,
    observe: (observation) => void observed.push(observation),
  });
  /** Lets time pass until the call has ended. */
  const ended = async <T>(call: Promise<T>): Promise<PromiseSettledResult<T>> => {
    const settled = Promise.allSettled([call]);
    await clock.advance(600_000);
    const [outcome] = await settled;
    return outcome;
  };
  return {
    blobs,
    wakeups,
    observed,
    gone,
    read: () => ended(readBlobInput({ ...io, budget: new ContentBudget(), signal: gone.signal })),
    write: (...bodies: readonly string[]) =>
      ended(
        output.send(
          bodies.map((body) => ({ body })),
          gone.signal,
        ),
      ),
  };
}

/** Fails the first `times` operations. */
function failing(times: number, error: Error): () => void {
  let left = times;
  return () => {
    left -= 1;
    if (left >= 0) throw error;
  };
}

describe('a blob input', () => {
  it('is read again while the service fails, five times at most', async () => {
    const { blobs, read } = bench();
    blobs.put('a.txt', 'content');
    blobs.intercept = failing(4, serviceError('InternalError', 500));
    expect(await read()).toMatchObject({ status: 'fulfilled', value: { bytes: Buffer.from('content') } });
    blobs.intercept = failing(5, serviceError('InternalError', 500));
    expect(await read()).toMatchObject({
      reason: {
        code: 'BLOB_UNAVAILABLE',
        retryable: true,
        message: expect.stringContaining('Blob box/a.txt is unavailable (read)'),
      },
    });
  });

  it('is not read again with a wrong key, and names the setting', async () => {
    const { blobs, read } = bench();
    let requests = 0;
    blobs.intercept = () => {
      requests += 1;
      throw serviceError('AuthenticationFailed', 403);
    };
    expect(await read()).toMatchObject({ reason: { message: expect.stringContaining('in the setting Shop') } });
    expect(requests).toBe(1);
  });

  it('is refused if it is larger than a worker takes, without a retry', async () => {
    const { blobs, read } = bench();
    blobs.put('a.txt');
    blobs.size = maxContentBytes + 1;
    expect(await read()).toMatchObject({ reason: { code: 'BLOB_TOO_LARGE', fault: 'customer', retryable: false } });
  });

  it('ends with the caller, and a request that hangs ends', async () => {
    const { blobs, read, gone } = bench();
    blobs.intercept = () => new Promise(() => undefined);
    expect(await read()).toMatchObject({ reason: { code: 'BLOB_UNAVAILABLE' } });
    gone.abort(new Error('the caller left'));
    expect(await read()).toMatchObject({ reason: { message: 'the caller left' } });
  });
});

describe('a blob output', () => {
  it('creates its container, writes the blob, and wakes the listeners of the process', async () => {
    const { blobs, wakeups, observed, write } = bench();
    blobs.exists = false;
    let wakes = 0;
    wakeups.listen('memory/box', () => (wakes += 1));
    await write('content');
    expect(blobs.current.map(({ name }) => name)).toEqual(['a.txt']);
    expect(observed.map(({ kind }) => kind)).toEqual(['blob.container-created', 'blob.written']);
    expect(wakes).toBe(1);
  });

  it('writes again while the service fails, and says what it could not write', async () => {
    const { blobs, write } = bench();
    blobs.intercept = failing(3, new Error('connect ECONNREFUSED'));
    expect(await write('content')).toMatchObject({ status: 'fulfilled' });
    blobs.intercept = failing(9, new Error('connect ECONNREFUSED'));
    expect(await write('content')).toMatchObject({
      reason: {
        code: 'BLOB_UNAVAILABLE',
        message: expect.stringContaining('(write): the storage account of the setting Shop does not respond'),
      },
    });
  });

  it('writes nothing for no value', async () => {
    const { blobs, write } = bench();
    await write();
    expect(blobs.current).toEqual([]);
  });
});
