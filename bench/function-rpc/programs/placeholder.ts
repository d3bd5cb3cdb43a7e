import { StatusResultStatus, type RpcFunctionMetadata } from '@drover/function-rpc';
import { message, ScriptedHost, type AdmittedWorker } from '@drover/function-rpc/testing';
import { Leash } from '@drover/service-kit';
import { Child } from '@drover/testkit';
import { setTimeout as sleep } from 'node:timers/promises';
import { serveRequests } from '../../harness/program.js';
import { functionName, inputsOf, traceParent } from '../messages.js';
import { appDirectory, workerFile } from '../node-worker.js';
import { rssOf } from '../../harness/process-facts.js';

export interface SpecializeRequest {
  /** How long it is left alone before its memory is looked at. */
  readonly restMs: number;
}

export interface Specialized {
  /** From the request to the last function that is loaded. */
  readonly readyMs: number;
  /** From the same request to the first result of a function. */
  readonly firstResultMs: number;
  /** Memory in MiB, where the system tells. */
  readonly placeholder: number | undefined;
  readonly withApp: number | undefined;
}

const leash = new Leash();

/** Starts a worker without an app, as a placeholder, and gives it one: what the runtime says to it, without the runtime. */
serveRequests<SpecializeRequest>(async ({ restMs }): Promise<Specialized> => {
  const host = await ScriptedHost.listen();
  const child = new Child(process.execPath, [workerFile(), ...argumentsFor(host.url)]);
  const release = leash.hold(child.pid, { signal: 'SIGTERM', graceMs: 500 });
  try {
    const worker = await host.worker();
    await worker.next('startStream');
    const init = { hostVersion: '4.1037.0', functionAppDirectory: '' };
    const { value } = await worker.request(message('workerInitRequest', init, 'init'), 'workerInitResponse');
    if (value.capabilities['HandlesWorkerWarmupMessage'])
      await worker.request(message('workerWarmupRequest', {}, 'warm-up'), 'workerWarmupResponse');
    await sleep(restMs);
    const placeholder = rssOf(child.pid);
    const startedMs = performance.now();
    const functions = await specialize(worker);
    const readyMs = performance.now() - startedMs;
    await invoke(worker, functions);
    const firstResultMs = performance.now() - startedMs;
    await sleep(restMs);
    return { readyMs, firstResultMs, placeholder, withApp: rssOf(child.pid) };
  } finally {
    await child.end();
    release();
    await host.stop();
  }
});

function argumentsFor(url: string): string[] {
  const facts = {
    'functions-uri': `${url}/`,
    'functions-worker-id': 'placeholder',
    'functions-request-id': 'start',
    'functions-grpc-max-message-length': '134217728',
  };
  return Object.entries(facts).flatMap(([name, value]) => [`--${name}`, value]);
}

async function specialize(worker: AdmittedWorker): Promise<readonly RpcFunctionMetadata[]> {
  const environment = { environmentVariables: variables(), functionAppDirectory: appDirectory };
  const reloaded = await worker.request(
    message('functionEnvironmentReloadRequest', environment, 'reload'),
    'functionEnvironmentReloadResponse',
  );
  const index = await worker.request(
    message('functionsMetadataRequest', { functionAppDirectory: appDirectory }, 'metadata'),
    'functionMetadataResponse',
  );
  const functions = index.value.functionMetadataResults;
  const loads = functions.map((metadata) => ({ functionId: metadata.functionId, metadata }));
  if (reloaded.value.capabilities['SupportsLoadResponseCollection']) {
    const all = message('functionLoadRequestCollection', { functionLoadRequests: loads }, 'load');
    await worker.request(all, 'functionLoadResponseCollection');
  } else for (const load of loads) await worker.request(message('functionLoadRequest', load), 'functionLoadResponse');
  return functions;
}

async function invoke(worker: AdmittedWorker, functions: readonly RpcFunctionMetadata[]): Promise<void> {
  const found = functions.find(({ name }) => name === functionName);
  const [trigger = ''] = Object.keys(found?.bindings ?? {});
  const request = {
    invocationId: 'first',
    functionId: found?.functionId,
    ...inputsOf(trigger),
    traceContext: { traceParent },
  };
  const { value } = await worker.request(message('invocationRequest', request), 'invocationResponse');
  if (value.result?.status !== StatusResultStatus.Success)
    throw new Error(`the first invocation failed: ${JSON.stringify(value.result)}`);
}

function variables(): Record<string, string> {
  return Object.fromEntries(Object.entries(process.env).flatMap(([name, text]) => (text ? [[name, text]] : [])));
}
