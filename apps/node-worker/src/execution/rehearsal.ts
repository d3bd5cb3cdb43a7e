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
import { withRehearsalApp } from '../loading/rehearse-loading.js';
import { startApp } from '../loading/start-app.js';
import { RpcLogs } from '../logs/rpc-logs.js';
import type { HostStream } from '../stream/host-stream.js';
import { ContextSignals } from './context-signal.js';
import { success } from './exceptions.js';
import { InFlight } from './in-flight.js';
import { toInvocationResponse } from './invocation-response.js';
import { Invocation } from './invocation.js';
import { runInvocation } from './run-invocation.js';

/** Enough for V8 to have compiled every path, and little enough to leave a placeholder small. */
const rounds = 10;

/** A stream that encodes what it is given, and sends it nowhere. */
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
  getResponse: () => ({ returnValue: { http: { statusCode: '200', body: { bytes: Buffer.from('rehearsal') } } } }),
};

const programmingModel: ProgrammingModel = { name: 'rehearsal', version: '', getInvocationModel: () => model };

/** Runs invocations of nothing, from the bytes of their request to the bytes of their response, and what comes before them. */
export async function rehearse(): Promise<void> {
  const app = new FunctionApp(() => programmingModel);
  app.register({ name: 'rehearsal', bindings }, async () => undefined);
  await withRehearsalApp(async (directory) => void (await startApp(app, directory, loadScript)));
  rehearseSpecialization(app.rpcMetadata);
  const loaded = app.find('rehearsal');
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
      invocation.log('information', 'user', 'rehearsal');
      const outcome = await runInvocation(invocation, app, signals);
      inFlight.remove(invocation);
      if ('response' in outcome) nowhere.send(responseOf(invocation, outcome.response));
    }
  }
}

/** Passes the messages of a specialization through the codec. */
function rehearseSpecialization(functions: readonly RpcFunctionMetadataInit[]): void {
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
    functionId: 'rehearsal',
    inputData: [
      {
        name: 'httpTrigger0000000000',
        data: {
          http: {
            method: 'POST',
            url: 'http://localhost/api/rehearsal?a=b',
            nullableHeaders: { host: { value: 'localhost' }, accept: { value: '*/*' } },
            nullableQuery: { a: { value: 'b' } },
            body: { bytes: Buffer.from('rehearsal') },
          },
        },
      },
    ],
    traceContext: { traceParent: '00-00000000000000000000000000000000-0000000000000000-00' },
  },
  {
    invocationId: '00000000-0000-0000-0000-000000000001',
    functionId: 'rehearsal',
    inputData: [{ name: 'queueTrigger000000000', data: { string: 'rehearsal' } }],
    triggerMetadata: { Id: { string: 'rehearsal' }, DequeueCount: { json: '1' } },
    traceContext: {},
  },
];
