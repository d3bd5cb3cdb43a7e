import { defineError, runtimeCalls } from '@drover/contracts';

export const functionNotFound = defineError<{ method: string; path: string }>('FUNCTION_NOT_FOUND', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `no function answers ${d.method} ${d.path}`,
  help: 'No enabled function has that route and method: compare with the list that the app prints when it starts.',
});

export const applicationNotFound = defineError(runtimeCalls.applicationNotFound, {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: () => 'no application is served at this address',
  help: 'The host name or path of the request belongs to no application: check the address.',
});

export const functionKeyRequired = defineError('FUNCTION_KEY_REQUIRED', {
  fault: 'caller',
  retryable: false,
  status: 401,
  message: () => 'send a key that is good here, in the header x-functions-key or as ?code=',
  help: 'The function is not open to everybody: send a function, host or master key that it accepts.',
});

export const functionFailed = defineError('FUNCTION_FAILED', {
  fault: 'customer',
  retryable: false,
  status: 500,
  message: () => 'the function failed; its log has the reason under this request id',
  help: 'The function threw, or returned what cannot be sent. Its log has the error under the invocation id.',
});

export const requestsThrottled = defineError<{ limit: number }>('FUNCTION_REQUESTS_THROTTLED', {
  fault: 'caller',
  retryable: true,
  status: 429,
  message: (d) =>
    `${d.limit} requests are already on their way, which is all this application takes; try again shortly`,
  help: 'More requests at once than `maxOutstandingRequests` of host.json allows: slow down, or raise it.',
});

export const requestBodyTooLarge = defineError<{ limitBytes: number }>('FUNCTION_BODY_TOO_LARGE', {
  fault: 'caller',
  retryable: false,
  status: 413,
  message: (d) => `the body is larger than ${d.limitBytes} bytes`,
  help: 'Send less, or raise the limit with FUNCTIONS_REQUEST_BODY_SIZE_LIMIT.',
});

export const bodiesFull = defineError('FUNCTION_BODIES_FULL', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: () => 'the bodies of all requests that are on their way together take all the memory there is for them',
  help: 'Many large requests at once: send them again, or use HTTP streaming, which holds no whole bodies.',
});

export const requestUnreadable = defineError<{ problem: string }>('FUNCTION_REQUEST_UNREADABLE', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) => `the request cannot be understood: ${d.problem}`,
  help: 'The request is no valid HTTP, or its path cannot be told apart from another one: correct the client.',
});

export const requestHeadTooLarge = defineError<{ limitBytes: number }>('FUNCTION_HEADERS_TOO_LARGE', {
  fault: 'caller',
  retryable: false,
  status: 431,
  message: (d) => `address and headers together are larger than ${d.limitBytes} bytes, or too many`,
  help: 'Send fewer or shorter headers.',
});

export const requestAddressTooLong = defineError<{ limitBytes: number }>('FUNCTION_ADDRESS_TOO_LONG', {
  fault: 'caller',
  retryable: false,
  status: 414,
  message: (d) => `the address is longer than ${d.limitBytes} bytes`,
  help: 'Put what is long into the body.',
});

export const requestTooSlow = defineError('FUNCTION_REQUEST_TOO_SLOW', {
  fault: 'caller',
  retryable: true,
  status: 408,
  message: () => 'the request did not arrive in time',
  help: 'The connection was open for too long without a whole request: check the client or the network.',
});

export const streamFailed = defineError<{ reason: string }>('FUNCTION_STREAM_FAILED', {
  fault: 'platform',
  retryable: false,
  status: 502,
  message: (d) => `the function worker's own HTTP server did not answer: ${d.reason}`,
  help: 'A worker with HTTP streaming did not take the request or broke off: look at its log.',
});

export const streamTimedOut = defineError<{ idleMs: number }>('FUNCTION_STREAM_TIMED_OUT', {
  fault: 'customer',
  retryable: false,
  status: 504,
  message: (d) => `nothing moved for ${d.idleMs} ms between the caller and the function`,
  help: 'A function with HTTP streaming neither read nor wrote for too long: let it write something in between.',
});

export const bodyStreamedAway = defineError('FUNCTION_BODY_STREAMED', {
  fault: 'platform',
  retryable: false,
  status: 503,
  message: () => 'the body was meant for a worker with HTTP streaming and cannot be given to another one',
  help: 'Workers of one application differ in HTTP streaming, as they may while a new version comes up: send the request again.',
});

export const serverDraining = defineError('FUNCTIONS_SHUTTING_DOWN', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: () => 'this runtime takes no new requests',
  help: 'The process is being stopped: send the request again, another one will take it.',
});

export const functionsPortUnusable = defineError<{ host: string; port: number; reason: string }>(
  'FUNCTIONS_PORT_UNUSABLE',
  {
    fault: 'platform',
    retryable: false,
    status: 500,
    message: (d) =>
      `cannot listen on ${d.host}:${d.port} (${d.reason}); stop what uses it, or set DROVER_RUNTIME_PORT to another port`,
    help: 'The port for functions is taken or not allowed: free it or choose another one with DROVER_RUNTIME_PORT.',
  },
);

export const adminCallRefused = defineError<{ problem: string }>('ADMIN_CALL_REFUSED', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) => d.problem,
  help: 'The admin API does not do that: the message says what it does.',
});

export const metricsKeyRequired = defineError('METRICS_KEY_REQUIRED', {
  fault: 'caller',
  retryable: false,
  status: 401,
  help: 'Metrics are shown to whoever has the master key: in the header x-functions-key, or as a bearer token.',
  message: () => 'send the master key in x-functions-key, or as a bearer token',
});

export const httpErrors = {
  metricsKeyRequired,
  functionNotFound,
  applicationNotFound,
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
