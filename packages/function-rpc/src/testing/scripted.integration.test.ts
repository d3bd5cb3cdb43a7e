import { describe, expect, it } from 'vitest';
import { message, invocationRequest, rpcFunctionMetadata, workerTerminate } from './messages.js';
import { ScriptedHost } from './scripted-host.js';
import { ScriptedWorker, type WorkerScript } from './scripted-worker.js';

async function meet(script: WorkerScript = {}) {
  const host = await ScriptedHost.listen();
  const worker = await ScriptedWorker.connect({ url: host.url, workerId: 'w1', requestId: 'start', script });
  const admitted = await host.worker();
  return { host, worker, admitted };
}

describe('ScriptedWorker and ScriptedHost', () => {
  it('go through the life of a worker together', async () => {
    const { host, worker, admitted } = await meet({
      capabilities: { WorkerStatus: 'true' },
      functions: [rpcFunctionMetadata('resize')],
      invoke: (request) => ({ string: `did ${request.invocationId}` }),
    });
    expect(await admitted.next('startStream')).toMatchObject({ requestId: 'start', value: { workerId: 'w1' } });

    const init = await admitted.request(message('workerInitRequest', {}, 'init'), 'workerInitResponse');
    expect(init).toMatchObject({
      requestId: 'init',
      value: { capabilities: { WorkerStatus: 'true' }, result: { status: 1 } },
    });
    const metadata = await admitted.request(message('functionsMetadataRequest', {}), 'functionMetadataResponse');
    expect(metadata.value.functionMetadataResults.map(({ name }) => name)).toEqual(['resize']);
    const load = await admitted.request(
      message('functionLoadRequest', { functionId: 'resize' }),
      'functionLoadResponse',
    );
    expect(load.value).toMatchObject({ functionId: 'resize', result: { status: 1 } });
    await admitted.request(message('workerStatusRequest', {}), 'workerStatusResponse');
    const response = await admitted.request(invocationRequest('i1'), 'invocationResponse');
    expect(response.value).toMatchObject({
      invocationId: 'i1',
      returnValue: { string: 'did i1' },
      result: { status: 1 },
    });

    admitted.send(workerTerminate());
    expect(await admitted.inbox.ended).toMatchObject({ kind: 'halfClosed' });
    expect(await worker.inbox.ended).toMatchObject({ kind: 'local' });
    await host.stop();
  });

  it('fail, stay silent and answer out of turn when a test wants it', async () => {
    const { host, worker, admitted } = await meet({
      invoke: () => Promise.reject(new Error('broken')),
      answer: ({ kind }) => (kind === 'workerStatusRequest' ? 'silence' : undefined),
    });
    const failed = await admitted.request(invocationRequest('i1'), 'invocationResponse');
    expect(failed.value).toMatchObject({ result: { status: 0, exception: { message: 'Error: broken' } } });
    admitted.send(message('workerStatusRequest', {}));
    await worker.inbox.next('workerStatusRequest');
    await expect(admitted.next('workerStatusResponse', 30)).rejects.toThrow('no workerStatusResponse within 30 ms');
    await worker.end();
    await expect(admitted.next('workerStatusResponse')).rejects.toThrow('the stream ended');
    await host.stop();
  });

  it('report that no peer connected', async () => {
    const host = await ScriptedHost.listen();
    await expect(host.worker(20)).rejects.toThrow('no worker connected within 20 ms');
    await host.stop();
  });
});
