import { BindingInfoDirection, StatusResultStatus } from '../generated/enums.js';
import type { InvocationRequestInit } from '../generated/invocation-request.js';
import type { RpcFunctionMetadataInit } from '../generated/rpc-function-metadata.js';
import type { StatusResultInit } from '../generated/status-result.js';
import type { StreamingMessageContentInit, StreamingMessageInit } from '../generated/streaming-message.js';
import type { TypedDataInit } from '../generated/typed-data.js';

/** A message of one kind for sending. */
export type MessageOf<K extends StreamingMessageInit['kind']> = Extract<StreamingMessageInit, { readonly kind: K }>;

/** Builds a message from its kind and content. */
export function message<K extends StreamingMessageInit['kind']>(
  kind: K,
  value: StreamingMessageContentInit[K],
  requestId = '',
): MessageOf<K> {
  // The compiler cannot see that a kind and its content form a member of the union.
  return { kind, value, requestId } as unknown as MessageOf<K>;
}

/** A successful result. */
export const success: StatusResultInit = { status: StatusResultStatus.Success };

/** A failed result. */
export function failure(text: string): StatusResultInit {
  return { status: StatusResultStatus.Failure, exception: { message: text, source: 'test' } };
}

/** Builds the first message of a worker. */
export function startStream(workerId: string, requestId = ''): MessageOf<'startStream'> {
  return message('startStream', { workerId }, requestId);
}

/** Builds the metadata of a function with one trigger. */
export function rpcFunctionMetadata(
  name: string,
  options: { readonly triggerType?: string; readonly trigger?: object; readonly outputs?: readonly object[] } = {},
): RpcFunctionMetadataInit {
  const type = options.triggerType ?? 'queueTrigger';
  const trigger = { name: 'trigger', type, direction: 'in', ...options.trigger };
  return {
    functionId: name,
    name,
    bindings: { [trigger.name]: { type, direction: BindingInfoDirection.in } },
    rawBindings: [trigger, ...(options.outputs ?? [])].map((binding) => JSON.stringify(binding)),
  };
}

/** Builds an invocation with one input. */
export function invocationRequest(
  invocationId: string,
  input: TypedDataInit = { string: 'input' },
  more: InvocationRequestInit = {},
): MessageOf<'invocationRequest'> {
  return message('invocationRequest', {
    invocationId,
    functionId: 'function',
    inputData: [{ name: 'trigger', data: input }],
    traceContext: {},
    ...more,
  });
}

/** Builds the response to an invocation. */
export function invocationResponse(
  invocationId: string,
  returnValue?: TypedDataInit,
  result: StatusResultInit = success,
): MessageOf<'invocationResponse'> {
  return message('invocationResponse', { invocationId, result, returnValue });
}

/** Builds the request to terminate. */
export function workerTerminate(graceSeconds = 5): MessageOf<'workerTerminate'> {
  return message('workerTerminate', { gracePeriod: { seconds: graceSeconds } });
}
