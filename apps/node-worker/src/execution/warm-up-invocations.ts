import {
  decodeStreamingMessage,
  encodeStreamingMessage,
  type InvocationRequestInit,
  type RpcFunctionMetadataInit,
  type StreamingMessageInit,
  type TypedDataInit,
} from '@drover/function-rpc';
import type { AppSlot } from '../loading/app-slot.js';
import type { LoadedFunction } from '../loading/function-app.js';
import type { FunctionsLibrary } from '../loading/prepared-library.js';
import { RpcLogs } from '../logs/rpc-logs.js';
import type { HostStream } from '../stream/host-connection.js';
import { ContextSignals } from './context-signal.js';
import { success } from './exceptions.js';
import { InFlight } from './in-flight.js';
import { toInvocationResponse } from './invocation-response.js';
import { Invocation } from './invocation.js';
import { LoopTurns } from './loop-turns.js';
import { runInvocation } from './run-invocation.js';

/** Enough for V8 to compile every path, and few enough to keep the memory of a placeholder small. */
const rounds = 10;

/** Encodes messages and drops them. */
const nowhere: HostStream = {
  send: (message) => encodeStreamingMessage(message).length > 0,
  sendEncoded: () => true,
  queuedBytes: 0,
  ended: undefined,
};

/** Runs empty functions of the v4 library, from the bytes of the request to those of the response. */
export async function warmUpInvocations(apps: AppSlot, library: FunctionsLibrary): Promise<void> {
  const app = apps.collect(() => {
    library.app.http('http', { handler: () => ({ body: 'warm-up' }) });
    library.app.storageQueue('queue', { queueName: 'warm-up', connection: 'warm-up', handler: () => undefined });
  });
  warmUpSpecialization(app.rpcMetadata);
  const inFlight = new InFlight();
  const parts = { signals: new ContextSignals(inFlight), turns: new LoopTurns() };
  const logs = new RpcLogs(() => app);
  for (let round = 0; round < rounds; round++) {
    for (const functionId of app.functionIds) {
      const loaded = app.find(functionId);
      if (!loaded) continue;
      const value = requestFor(loaded);
      const message = decodeStreamingMessage(encodeStreamingMessage({ kind: 'invocationRequest', value }));
      if (message.kind !== 'invocationRequest') continue;
      const invocation = new Invocation(message.value, { requestId: '', loaded, stream: nowhere, logs });
      inFlight.add(invocation);
      invocation.log('information', 'user', 'warm-up');
      const outcome = await runInvocation(invocation, app, parts);
      inFlight.remove(invocation);
      if ('response' in outcome) nowhere.send(responseOf(invocation, outcome.response));
    }
  }
}

/** Encodes and decodes the messages of a specialization. */
function warmUpSpecialization(functions: readonly RpcFunctionMetadataInit[]): void {
  const workerMetadata = { runtimeName: 'node', customProperties: { a: 'b' } };
  const messages: readonly StreamingMessageInit[] = [
    {
      kind: 'functionEnvironmentReloadRequest',
      value: { environmentVariables: { A: 'B' }, functionAppDirectory: '/' },
    },
    { kind: 'functionEnvironmentReloadResponse', value: { capabilities: { a: 'b' }, workerMetadata, result: success } },
    { kind: 'functionsMetadataRequest', value: { functionAppDirectory: '/' } },
    { kind: 'functionMetadataResponse', value: { functionMetadataResults: functions, result: success } },
    { kind: 'functionLoadRequest', value: { functionId: 'f', metadata: functions[0] } },
    { kind: 'functionLoadResponse', value: { functionId: 'f', result: success } },
  ];
  for (const message of messages) decodeStreamingMessage(encodeStreamingMessage(message));
}

function responseOf(
  { invocationId }: Invocation,
  response: ReturnType<typeof toInvocationResponse>,
): StreamingMessageInit {
  return { kind: 'invocationResponse', value: toInvocationResponse(invocationId, response, success) };
}

/** Makes a request with the name that the library gave to the input. */
function requestFor({ id, metadata }: LoadedFunction): InvocationRequestInit {
  const [name = ''] = Object.keys(metadata.bindings).filter((binding) => binding !== '$return');
  const isHttp = id === 'http';
  return {
    invocationId: '00000000-0000-0000-0000-000000000000',
    functionId: id,
    inputData: [{ name, data: isHttp ? httpRequest : { string: 'warm-up' } }],
    triggerMetadata: isHttp ? {} : { Id: { string: 'warm-up' }, DequeueCount: { json: '1' } },
    traceContext: { traceParent: '00-00000000000000000000000000000000-0000000000000000-00' },
  };
}

const httpRequest: TypedDataInit = {
  http: {
    method: 'POST',
    url: 'http://localhost/api/warm-up?a=b',
    nullableHeaders: { host: { value: 'localhost' }, accept: { value: '*/*' } },
    nullableQuery: { a: { value: 'b' } },
    body: { bytes: Buffer.from('warm-up') },
  },
};
