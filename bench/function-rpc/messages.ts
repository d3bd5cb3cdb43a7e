import {
  StatusResultStatus,
  type InvocationRequestInit,
  type InvocationResponseInit,
  type ParameterBindingInit,
  type TypedDataInit,
} from '@drover/function-rpc';

/** The one function of the app that everybody calls. */
export const functionName = 'noop';

const text = '{"orderId":"A-1042","quantity":3}';
export const traceParent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** What a message of a storage queue gives its function. Made anew for each call, as a source does. */
export function inputsOf(triggerName: string): {
  readonly inputData: readonly ParameterBindingInit[];
  readonly triggerMetadata: Readonly<Record<string, TypedDataInit>>;
} {
  return {
    inputData: [{ name: triggerName, data: { string: text } }],
    triggerMetadata: {
      QueueTrigger: { string: text },
      Id: { string: '2f6bb1c4-8a2f-4b3c-9f0e-6d1c7f3b2a10' },
      PopReceipt: { string: 'AgAAAAMAAAAAAAAAvd0dAGkQ2gE=' },
      DequeueCount: { json: '1' },
      InsertionTime: { json: '"2025-01-01T00:00:00.000+00:00"' },
      ExpirationTime: { json: '"2025-01-08T00:00:00.000+00:00"' },
      NextVisibleTime: { json: '"2025-01-01T00:10:00.000+00:00"' },
    },
  };
}

/** What the runtime makes of it. */
export function requestOf(invocationId: string): InvocationRequestInit {
  return {
    invocationId,
    functionId: functionName,
    ...inputsOf('queueTrigger1a2b3c4d5e'),
    traceContext: { traceParent },
  };
}

/** What a worker answers when the function did nothing. */
export function responseTo(invocationId: string): InvocationResponseInit {
  return { invocationId, outputData: [], result: { status: StatusResultStatus.Success } };
}
