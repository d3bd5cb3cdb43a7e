import {
  decodeStreamingMessage,
  encodeStreamingMessage,
  type InvocationRequestInit,
  type RpcFunctionMetadataInit,
  type StreamingMessageInit,
} from '@drover/function-rpc';
import { FunctionApp } from '../loading/function-app.js';
import type { CoreFunctionMetadata, InvocationModel, ProgrammingModel } from '../loading/functions-core.js';
import { loadScript } from '../loading/load-script.js';
import { withWarmUpApp } from '../loading/warm-up-app.js';
import { startApp } from '../loading/start-app.js';
import { RpcLogs } from '../logs/rpc-logs.js';
import type { HostStream } from '../stream/host-connection.js';
import { ContextSignals } from './context-signal.js';
import { success } from './exceptions.js';
import { InFlight } from './in-flight.js';
import { toInvocationResponse } from './invocation-response.js';
import { Invocation } from './invocation.js';
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

const bindings: CoreFunctionMetadata['bindings'] = {
  trigger: { type: 'httpTrigger', direction: 'in', methods: ['GET'], properties: { supportsDeferredBinding: 'false' } },
  $return: { type: 'http', direction: 'out' },
};

const model: InvocationModel = {
  getArguments: () => ({ context: {}, inputs: [] }),
  invokeFunction: (_context, _inputs, callback) => callback(),
  getResponse: () => ({ returnValue: { http: { statusCode: '200', body: { bytes: Buffer.from('warm-up') } } } }),
};

const programmingModel: ProgrammingModel = { name: 'warm-up', version: '', getInvocationModel: () => model };

/** Starts an app and runs invocations of an empty function, from the bytes of the request to those of the response. */
export async function warmUpInvocations(): Promise<void> {
  const app = new FunctionApp(() => programmingModel);
  app.register({ name: 'warm-up', bindings }, async () => undefined);
  await withWarmUpApp(async (directory) => void (await startApp(app, directory, loadScript)));
  warmUpSpecialization(app.rpcMetadata);
  const loaded = app.find('warm-up');
  if (!loaded) return;
  const inFlight = new InFlight();
  const signals = new ContextSignals(inFlight);
  const logs = new RpcLogs(() => app);
  for (let round = 0; round < rounds; round++) {
    for (const value of requests) {
      const message = decodeStreamingMessage(encodeStreamingMessage({ kind: 'invocationRequest', value }));
      if (message.kind !== 'invocationRequest') continue;
      const invocation = new Invocation(message.value, { requestId: '', loaded, stream: nowhere, logs });
      inFlight.add(invocation);
      invocation.log('information', 'user', 'warm-up');
      const outcome = await runInvocation(invocation, app, signals);
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

const requests: readonly InvocationRequestInit[] = [
  {
    invocationId: '00000000-0000-0000-0000-000000000000',
    functionId: 'warm-up',
    inputData: [
      {
        name: 'httpTrigger0000000000',
        data: {
          http: {
            method: 'POST',
            url: 'http://localhost/api/warm-up?a=b',
            nullableHeaders: { host: { value: 'localhost' }, accept: { value: '*/*' } },
            nullableQuery: { a: { value: 'b' } },
            body: { bytes: Buffer.from('warm-up') },
          },
        },
      },
    ],
    traceContext: { traceParent: '00-00000000000000000000000000000000-0000000000000000-00' },
  },
  {
    invocationId: '00000000-0000-0000-0000-000000000001',
    functionId: 'warm-up',
    inputData: [{ name: 'queueTrigger000000000', data: { string: 'warm-up' } }],
    triggerMetadata: { Id: { string: 'warm-up' }, DequeueCount: { json: '1' } },
    traceContext: {},
  },
];
