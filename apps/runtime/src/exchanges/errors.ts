import { defineError, runtimeCalls } from '@drover/contracts';

export const functionNotFound = defineError<{ method: string; path: string }>(runtimeCalls.functionNotFound, {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `No function has a route for ${d.method} ${d.path}. Check the method and the path.`,
  help: 'No enabled function has that route and method. Compare with the functions in the log of the start, or in /admin/functions.',
});

export const applicationNotFound = defineError(runtimeCalls.applicationNotFound, {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: () => 'No application is served at this address. Check the host name and the path.',
  help: 'The host name or the path of the request belongs to no application. Check the address.',
});

export const applicationNotServed = defineError<{ problems: readonly string[] }>('APPLICATION_NOT_SERVED', {
  fault: 'customer',
  retryable: true,
  status: 503,
  message: (d) => `No function can be called: ${d.problems.join('; ')}`,
  help: 'No application of this runtime has a function that can run. The message and /readyz have the reason of each. Correct it, and deploy again.',
});

export const functionKeyRequired = defineError('FUNCTION_KEY_REQUIRED', {
  fault: 'caller',
  retryable: false,
  status: 401,
  message: () => 'The function key is missing or invalid. Send it in the header x-functions-key, or as ?code=.',
  help: 'The function requires a key. Send a function, host or master key that it accepts.',
});

export const functionFailed = defineError('FUNCTION_FAILED', {
  fault: 'customer',
  retryable: false,
  status: 500,
  message: () => 'The function failed. Its log has the reason under this request id.',
  help: 'The function threw an error, or returned a response that cannot be sent. Its log has the error under the invocation id.',
});

export const requestsThrottled = defineError<{ limit: number }>('FUNCTION_REQUESTS_THROTTLED', {
  fault: 'caller',
  retryable: true,
  status: 429,
  message: (d) =>
    `The application already has ${d.limit} outstanding requests, its limit. Send the request again shortly.`,
  help: 'More outstanding requests than `maxOutstandingRequests` of host.json allows. Send fewer at a time, or raise the limit.',
});

export const requestBodyTooLarge = defineError<{ limitBytes: number }>('FUNCTION_BODY_TOO_LARGE', {
  fault: 'caller',
  retryable: false,
  status: 413,
  message: (d) =>
    `The request body is larger than ${d.limitBytes} bytes. Send less, or raise FUNCTIONS_REQUEST_BODY_SIZE_LIMIT.`,
  help: 'Send less, or raise FUNCTIONS_REQUEST_BODY_SIZE_LIMIT, a setting of the application or of the runtime. Without HTTP streaming, DROVER_RPC_MAX_MESSAGE_BYTES limits bodies too.',
});

export const bodiesFull = defineError('FUNCTION_BODIES_FULL', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: () => 'The memory for request bodies is exhausted. Send the request again shortly.',
  help: 'Too many large requests at once. Send them again, or use HTTP streaming, which buffers no whole bodies.',
});

export const requestUnreadable = defineError<{ problem: string }>('FUNCTION_REQUEST_UNREADABLE', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) => `The request is invalid: ${d.problem}`,
  help: 'The request is not valid HTTP, or its path is ambiguous. Correct the client.',
});

export const requestHeadTooLarge = defineError<{ limitBytes: number }>('FUNCTION_HEADERS_TOO_LARGE', {
  fault: 'caller',
  retryable: false,
  status: 431,
  message: (d) =>
    `The request target and headers exceed ${d.limitBytes} bytes, or there are too many headers. Send fewer or shorter headers.`,
  help: 'Send fewer or shorter headers.',
});

export const requestAddressTooLong = defineError<{ limitBytes: number }>('FUNCTION_ADDRESS_TOO_LONG', {
  fault: 'caller',
  retryable: false,
  status: 414,
  message: (d) => `The request target is longer than ${d.limitBytes} bytes. Send long values in the body.`,
  help: 'The path and query are too long. Send long values in the body.',
});

export const requestTooSlow = defineError('FUNCTION_REQUEST_TOO_SLOW', {
  fault: 'caller',
  retryable: true,
  status: 408,
  message: () => 'The request did not arrive in time. Check the client or the network.',
  help: 'The connection was open for too long without a complete request. Check the client or the network.',
});

export const streamFailed = defineError<{ reason: string }>('FUNCTION_STREAM_FAILED', {
  fault: 'platform',
  retryable: false,
  status: 502,
  message: (d) => `The HTTP server of the function worker did not answer: ${d.reason}`,
  help: 'A worker with HTTP streaming did not accept the request or closed the connection. Check its log.',
});

export const streamTimedOut = defineError<{ idleMs: number }>('FUNCTION_STREAM_TIMED_OUT', {
  fault: 'customer',
  retryable: false,
  status: 504,
  message: (d) => `The function neither read nor wrote for ${d.idleMs} ms. Let it write at shorter intervals.`,
  help: 'A function with HTTP streaming neither read nor wrote for too long. Let it write at shorter intervals.',
});

export const bodyStreamedAway = defineError('FUNCTION_BODY_STREAMED', {
  fault: 'platform',
  retryable: false,
  status: 503,
  message: () =>
    'The body was streamed to a worker with HTTP streaming and cannot be sent to another one. Send the request again.',
  help: 'The workers of the application differ in HTTP streaming, as they may during a deployment. Send the request again.',
});

export const serverDraining = defineError('FUNCTIONS_SHUTTING_DOWN', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: () => 'The runtime is shutting down. Send the request again.',
  help: 'The process is shutting down. Send the request again: another process serves it.',
});

export const functionsPortUnusable = defineError<{ host: string; port: number; reason: string }>(
  'FUNCTIONS_PORT_UNUSABLE',
  {
    fault: 'platform',
    retryable: false,
    status: 500,
    message: (d) =>
      `The runtime cannot listen on ${d.host}:${d.port} (${d.reason}). Free the port, or set DROVER_RUNTIME_PORT to another one.`,
    help: 'The HTTP port of the functions is in use or not permitted. Free it, or set DROVER_RUNTIME_PORT to another one.',
  },
);

export const adminCallRefused = defineError<{ problem: string }>('ADMIN_CALL_REFUSED', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) => d.problem,
  help: 'The admin API cannot do this. The message says what to send instead.',
});

export const metricsKeyRequired = defineError('METRICS_KEY_REQUIRED', {
  fault: 'caller',
  retryable: false,
  status: 401,
  help: 'Metrics require the master key, in the header x-functions-key or as a bearer token.',
  message: () => 'The master key is missing or invalid. Send it in x-functions-key, or as a bearer token.',
});

export const httpErrors = {
  metricsKeyRequired,
  functionNotFound,
  applicationNotFound,
  applicationNotServed,
  functionKeyRequired,
  functionFailed,
  requestsThrottled,
  requestBodyTooLarge,
  bodiesFull,
  requestUnreadable,
  requestHeadTooLarge,
  requestAddressTooLong,
  requestTooSlow,
  streamFailed,
  streamTimedOut,
  bodyStreamedAway,
  serverDraining,
  functionsPortUnusable,
  adminCallRefused,
};
