import {
  decodeStreamingMessage,
  encodeStreamingMessage,
  type InvocationRequest,
  type InvocationRequestInit,
} from '@drover/function-rpc';
import { FunctionApp, type LoadedFunction } from '../loading/function-app.js';
import type { CoreFunctionMetadata, FunctionCallback, ProgrammingModel } from '../loading/functions-core.js';
import { RpcLogs } from '../logs/rpc-logs.js';
import { RecordingStream } from '../stream/recording-stream.test.fixture.js';
import { Invocation } from './invocation.js';

/** Passes a request through the codec. */
export function decoded(value: InvocationRequestInit): InvocationRequest {
  const message = decodeStreamingMessage(encodeStreamingMessage({ kind: 'invocationRequest', value }));
  if (message.kind !== 'invocationRequest') throw new Error('not a request');
  return message.value;
}

export const queueMetadata: CoreFunctionMetadata = {
  name: 'test',
  bindings: { input: { type: 'queueTrigger', direction: 'in' } },
};

/** Returns a function that the model runs. */
export function loadedFunction(
  model: ProgrammingModel,
  metadata: CoreFunctionMetadata = queueMetadata,
  callback: FunctionCallback = () => undefined,
): LoadedFunction {
  const app = new FunctionApp(() => model);
  app.register(metadata, callback);
  const loaded = app.find(metadata.functionId ?? metadata.name);
  if (!loaded) throw new Error('not registered');
  return loaded;
}

/** Returns an invocation on a new stream. */
export function invocationOf(
  loaded: LoadedFunction,
  request: InvocationRequestInit = {},
  app: FunctionApp = new FunctionApp(() => undefined),
): { invocation: Invocation; stream: RecordingStream } {
  const stream = new RecordingStream();
  const logs = new RpcLogs(() => app);
  const value = decoded({ invocationId: 'id', functionId: loaded.id, ...request });
  return { stream, invocation: new Invocation(value, { requestId: 'request', loaded, stream, logs }) };
}

/** A model that passes inputs through and returns nothing. */
export const plainModel: ProgrammingModel = {
  name: 'plain',
  version: '1.0.0',
  getInvocationModel: (core) => ({
    getArguments: () => ({ context: {}, inputs: [...core.request.inputData] }),
    invokeFunction: (context, inputs, callback) => callback(...inputs, context),
    getResponse: () => ({}),
  }),
};
