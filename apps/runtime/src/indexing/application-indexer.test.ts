import type { RuntimeIndexRequest } from '@drover/contracts';
import { Leash } from '@drover/service-kit';
import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { toWorkerSettings } from '../compose-workers.js';
import { parseRuntimeConfig } from '../config.js';
import { applicationBroken } from '../errors.js';
import { Admission } from '../rpc/admission.js';
import { supportedBindings } from '../triggers/binding-extensions.js';
import { ApplicationIndexer } from './application-indexer.js';

/** An indexer whose reads of files the test settles; it gets no further, so it needs no worker. */
class Trial {
  readonly reading: { readonly id: string; readonly fail: (error: Error) => void }[] = [];
  readonly indexer = new ApplicationIndexer({
    command: undefined,
    leash: new Leash(),
    admission: new Admission(),
    address: () => ({ host: '127.0.0.1', port: 1 }),
    maxMessageBytes: 1,
    connectWithinMs: 1,
    settings: toWorkerSettings(parseRuntimeConfig({})),
    supported: supportedBindings,
    read: ({ applicationId }) =>
      new Promise((_, reject) => void this.reading.push({ id: applicationId, fail: reject })),
    check: () => expect.unreachable(),
    clock: new FakeClock(),
    randomness: seededRandomness(1),
  });

  request(applicationId: string): ReturnType<ApplicationIndexer['index']> {
    const request: RuntimeIndexRequest = {
      tenantId: 'default',
      applicationId,
      codeVersion: 'v1',
      directory: '/app',
      settings: {},
    };
    return this.indexer.index(request);
  }
}

const broken = (problem: string): Error => applicationBroken({ applicationId: 'app', problems: [problem] });
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the application indexer', () => {
  it('answers with the problems of the files', async () => {
    const trial = new Trial();
    const answer = trial.request('app');
    await settled();
    trial.reading[0]?.fail(broken('host.json: is not valid JSON'));
    expect(await answer).toEqual({ kind: 'refused', problems: ['host.json: is not valid JSON'] });
  });

  it('indexes two at a time, the others in their order, and refuses more than twenty that wait', async () => {
    const trial = new Trial();
    const answers = Array.from({ length: 22 }, (_, n) => trial.request(`app-${n}`));
    await settled();
    expect(trial.reading.map(({ id }) => id)).toEqual(['app-0', 'app-1']);
    await expect(trial.request('one too many')).rejects.toMatchObject({ code: 'RUNTIME_INDEXING_BUSY', status: 503 });
    for (let n = 0; n < 22; n += 1) {
      trial.reading[n]?.fail(broken(`problem ${n}`));
      await settled();
    }
    expect(await Promise.all(answers)).toEqual(
      answers.map((_, n) => ({ kind: 'refused', problems: [`problem ${n}`] })),
    );
    const next = trial.request('next');
    await settled();
    trial.reading.at(-1)?.fail(broken('as before'));
    expect((await next).kind).toBe('refused');
  });

  it('does not take an error of its own for one of the application', async () => {
    const trial = new Trial();
    const answer = trial.request('app');
    await settled();
    trial.reading[0]?.fail(new Error('out of file descriptors'));
    await expect(answer).rejects.toThrow('out of file descriptors');
  });
});
