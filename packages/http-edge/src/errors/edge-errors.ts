import { defineError } from '@drover/contracts';

export const connectionsExhausted = defineError<{ connections: number; perClient: number }>('TOO_MANY_CONNECTIONS', {
  fault: 'caller',
  retryable: true,
  status: 503,
  message: (d) =>
    `This port has as many open connections as it accepts: ${d.connections} in all, ${d.perClient} from one client. Close or reuse connections, or ask the operator to raise the limit.`,
  help: 'One client, or all together, have as many connections open as the port accepts. Reuse connections. The operator can raise `DROVER_MAX_CONNECTIONS` and `DROVER_MAX_CONNECTIONS_PER_CLIENT` (runtime: `DROVER_RUNTIME_MAX_CONNECTIONS` and `DROVER_RUNTIME_MAX_CONNECTIONS_PER_CLIENT`). Health probes are still answered.',
});

export const bodyUnreadable = defineError<{ problem: string }>('BAD_REQUEST', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) => d.problem,
  help: 'The request cannot be parsed. Send well-formed HTTP and JSON.',
});

export const bodyTooLarge = defineError<{ limitBytes: number; variable?: string }>('PAYLOAD_TOO_LARGE', {
  fault: 'caller',
  retryable: false,
  status: 413,
  message: (d) =>
    `The request body is larger than ${d.limitBytes} bytes. Send less, or raise ${d.variable ?? 'DROVER_BODY_LIMIT_BYTES'}.`,
  help: 'Send less, or raise the limit that the message names: `DROVER_BODY_LIMIT_BYTES`, or `DROVER_RECORDS_BODY_LIMIT_BYTES` for records.',
});

export const addressTooLong = defineError<{ limitBytes: number }>('URI_TOO_LONG', {
  fault: 'caller',
  retryable: false,
  status: 414,
  message: (d) => `The request URL is longer than ${d.limitBytes} bytes. Send long values in the body.`,
  help: 'Send long values in the body.',
});

export const headersTooLarge = defineError<{ limitBytes: number; limitCount: number }>('HEADERS_TOO_LARGE', {
  fault: 'caller',
  retryable: false,
  status: 431,
  message: (d) =>
    `The request has more than ${d.limitCount} headers, or more than ${d.limitBytes} bytes of them. Send fewer and shorter headers.`,
  help: 'Send fewer and shorter headers.',
});

export const requestTooSlow = defineError<{ headersMs: number; requestMs: number }>('REQUEST_TIMEOUT', {
  fault: 'caller',
  retryable: true,
  status: 408,
  message: (d) =>
    `The request took too long to arrive: the limit is ${d.headersMs} ms for headers and ${d.requestMs} ms in all. Try again.`,
  help: 'The connection was too slow or idle. Try again, with a smaller body if the network is slow.',
});

export const mediaTypeUnsupported = defineError<{ received: string; expected?: string }>('UNSUPPORTED_MEDIA_TYPE', {
  fault: 'caller',
  retryable: false,
  status: 415,
  message: (d) => `The request body is ${d.received}. Send ${d.expected ?? 'application/json'} without compression.`,
  help: 'Send JSON with `Content-Type: application/json`, or a file with the type that `/openapi.json` names.',
});

export const shuttingDown = defineError('SHUTTING_DOWN', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: () => 'This process is shutting down and accepts no more requests. Try again.',
  help: 'Try again: another replica, or this one after its restart, will answer.',
});

export const edgeErrors = {
  connectionsExhausted,
  bodyUnreadable,
  bodyTooLarge,
  addressTooLong,
  headersTooLarge,
  requestTooSlow,
  mediaTypeUnsupported,
  shuttingDown,
};
