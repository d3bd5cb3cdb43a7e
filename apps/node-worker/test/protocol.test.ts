import { RpcLogCategory, RpcLogLevel, StatusResultStatus } from '@drover/function-rpc';
import { message } from '@drover/function-rpc/testing';
import { eventually } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { endAll, fixture, WorkerUnderTest } from './support/worker-under-test.js';

afterEach(endAll);

describe('a worker that connects', () => {
  it('sends StartStream with the ids of its command line', async () => {
    const worker = await WorkerUnderTest.start();
    expect(worker.messages[0]).toMatchObject({
      kind: 'startStream',
      requestId: 'request-1',
      value: { workerId: 'worker-1' },
    });
  });

  it('answers the first request with capabilities and a description of itself', async () => {
    const worker = await WorkerUnderTest.start();
    const { capabilities, result, workerMetadata } = await worker.init('');
    expect(result?.status).toBe(StatusResultStatus.Success);
    expect({ ...capabilities }).toEqual({
      RawHttpBodyBytes: 'true',
      RpcHttpBodyOnly: 'true',
      RpcHttpTriggerMetadataRemoved: 'true',
      UseNullableValueDictionaryForHttp: 'true',
      IgnoreEmptyValuedRpcHttpHeaders: 'true',
      TypedDataCollection: 'true',
      WorkerStatus: 'true',
      HandlesWorkerTerminateMessage: 'true',
      HandlesInvocationCancelMessage: 'true',
      HandlesWorkerWarmupMessage: 'true',
      SupportsLoadResponseCollection: 'true',
      EnableUserCodeException: 'true',
      IncludeEmptyEntriesInMessagePayload: 'true',
    });
    expect(workerMetadata).toMatchObject({ runtimeName: 'node', runtimeVersion: process.versions.node });
    expect(workerMetadata?.workerBitness).toBe(process.arch);
  });

  it('adds what the app sets up, and names its programming model', async () => {
    const worker = await WorkerUnderTest.start();
    const { capabilities, workerMetadata } = await worker.init(fixture('v4-commonjs'));
    expect(capabilities['FromSetup']).toBe('yes');
    expect(workerMetadata?.customProperties).toMatchObject({ modelName: '@azure/functions', modelVersion: '4.16.5' });
  });

  it('accepts a host without a version', async () => {
    const worker = await WorkerUnderTest.start();
    const request = message('workerInitRequest', { functionAppDirectory: fixture('v4-commonjs') });
    const { value } = await worker.admitted.request(request, 'workerInitResponse');
    expect(value.result?.status).toBe(StatusResultStatus.Success);
  });

  it('repeats the id of a request in its answer', async () => {
    const worker = await WorkerUnderTest.start();
    await worker.init('');
    const answer = await worker.admitted.request(
      message('workerStatusRequest', {}, 'status-7'),
      'workerStatusResponse',
    );
    expect(answer.requestId).toBe('status-7');
  });

  it('logs messages without a handler, and continues', async () => {
    const worker = await WorkerUnderTest.start();
    await worker.init('');
    worker.admitted.send(message('closeSharedMemoryResourcesRequest', {}));
    worker.admitted.send(message('workerHeartbeat', {}));
    await worker.admitted.request(message('workerStatusRequest', {}), 'workerStatusResponse');
    const logs = worker.messages.flatMap((one) => (one.kind === 'rpcLog' ? [one.value] : []));
    expect(logs).toMatchObject([
      {
        message: expect.stringContaining("'closeSharedMemoryResourcesRequest'") as string,
        level: RpcLogLevel.Warning,
        logCategory: RpcLogCategory.System,
      },
    ]);
  });

  it('sends no line of its own for an invocation', async () => {
    const worker = await WorkerUnderTest.withApp('no-op');
    const before = worker.messages.length;
    await worker.call('queue', { string: 'x' });
    const kinds = worker.messages.slice(before).map(({ kind }) => kind);
    expect(kinds).toEqual(['functionMetadataResponse', 'invocationResponse']);
  });
});

describe('the health probe', () => {
  it('answers while the worker is connected', async () => {
    const port = await freePort();
    const worker = await WorkerUnderTest.start({ env: { DROVER_WORKER_HEALTH_PORT: String(port) } });
    const response = await eventually(() => fetch(`http://127.0.0.1:${port}/healthz`));
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: 'live', connection: 'connected', inFlight: 0 });
    await worker.child.end();
  });
});

async function freePort(): Promise<number> {
  const { createServer } = await import('node:net');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}
