import {
  FunctionEnvironmentReloadResponseCapabilitiesUpdateStrategy as Strategy,
  StatusResultStatus,
} from '@drover/function-rpc';
import { message } from '@drover/function-rpc/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { endAll, fixture, httpRequest, WorkerUnderTest } from './support/worker-under-test.js';

afterEach(endAll);

const { Success, Failure } = StatusResultStatus;

async function reload(worker: WorkerUnderTest, directory: string, environmentVariables: Record<string, string> = {}) {
  const value = { environmentVariables, functionAppDirectory: directory };
  const request = message('functionEnvironmentReloadRequest', value, 'reload');
  return (await worker.admitted.request(request, 'functionEnvironmentReloadResponse')).value;
}

describe('a placeholder', () => {
  it('warms up, is specialized for an app and serves it', async () => {
    const worker = await WorkerUnderTest.start();
    expect((await worker.init('')).result?.status).toBe(Success);
    const warm = await worker.admitted.request(message('workerWarmupRequest', {}, 'warm'), 'workerWarmupResponse');
    expect(warm).toMatchObject({ requestId: 'warm', value: { result: { status: Success } } });
    const answer = await reload(worker, fixture('v4-commonjs'), { PATH: '/bin', SETTING: 'of the app' });
    expect(answer.result?.status).toBe(Success);
    expect(answer.capabilitiesUpdateStrategy).toBe(Strategy.replace);
    expect(answer.capabilities['FromSetup']).toBe('yes');
    expect(answer.workerMetadata?.customProperties['modelVersion']).toBe('4.16.5');
    expect((await worker.metadata()).functionMetadataResults.length).toBeGreaterThan(5);
    expect((await worker.load('hello')).result?.status).toBe(Success);
    const { response } = await worker.call('hello', httpRequest('GET', 'http://localhost/?name=you'));
    expect(String(response.returnValue?.http?.body?.bytes)).toBe('hello you');
  });

  it('has exactly the environment it was given, and works in the directory of the app', async () => {
    const worker = await WorkerUnderTest.start({ env: { OF_THE_PLACEHOLDER: '1' } });
    await worker.init('');
    await reload(worker, fixture('v4-commonjs'), { SETTING: 'of the app' });
    const { response } = await worker.call('environment', { string: 'x' });
    expect(JSON.parse(response.returnValue?.json ?? '')).toEqual({
      env: { SETTING: 'of the app' },
      cwd: fixture('v4-commonjs'),
    });
  });

  it('has no functions, and reports why', async () => {
    const worker = await WorkerUnderTest.start();
    await worker.init('');
    const { result } = await worker.metadata('/some/app');
    expect(result?.status).toBe(Failure);
    expect(result?.exception?.message).toContain('this worker is a placeholder without an app');
  });

  it('can be specialized once', async () => {
    const worker = await WorkerUnderTest.start();
    await worker.init('');
    await reload(worker, fixture('v4-esm'));
    const { result } = await reload(worker, fixture('v4-commonjs'));
    expect(result?.status).toBe(Failure);
    expect(result?.exception?.message).toContain(`has already been specialized for the app in ${fixture('v4-esm')}`);
    expect((await worker.metadata()).functionMetadataResults.map(({ name }) => name)).toEqual(['hello', 'later']);
  });

  it('keeps its app when a host that was restarted specializes it again in the same way', async () => {
    const worker = await WorkerUnderTest.start();
    await worker.init('');
    await reload(worker, fixture('v4-esm'), { SETTING: 'one' });
    await worker.init('');
    expect((await reload(worker, fixture('v4-esm'), { SETTING: 'one' })).result?.status).toBe(Success);
    expect((await worker.metadata()).functionMetadataResults.map(({ name }) => name)).toEqual(['hello', 'later']);
    expect((await reload(worker, fixture('v4-esm'), { SETTING: 'two' })).result?.status).toBe(Failure);
  });

  it('forgets the app it warmed up with, also when both share a library', async () => {
    const worker = await WorkerUnderTest.start();
    await worker.init(fixture('no-op'));
    await reload(worker, fixture('v4-esm'));
    expect((await worker.metadata()).functionMetadataResults.map(({ name }) => name)).toEqual(['hello', 'later']);
    expect((await worker.call('later', { string: 'on' })).response.returnValue).toEqual({ string: 'later on' });
  });

  it('fails for a directory that is not there', async () => {
    const worker = await WorkerUnderTest.start();
    await worker.init('');
    const { result } = await reload(worker, fixture('does-not-exist'));
    expect(result?.status).toBe(Failure);
    expect(result?.exception?.message).toContain('does-not-exist');
    expect((await reload(worker, fixture('does-not-exist'))).result?.status).toBe(Failure);
  });

  it('succeeds with a broken app: the request for functions reports it', async () => {
    const worker = await WorkerUnderTest.start();
    await worker.init('');
    expect((await reload(worker, fixture('only-throwing'))).result?.status).toBe(Success);
    expect((await worker.metadata()).result?.exception?.message).toContain('the only file throws');
  });

  it('can be specialized for a v3 app', async () => {
    const worker = await WorkerUnderTest.start();
    await worker.init('');
    await reload(worker, fixture('v3'));
    expect(await worker.metadata()).toMatchObject({ useDefaultMetadataIndexing: true, result: { status: Success } });
  });
});
