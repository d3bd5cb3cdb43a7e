import { defineError } from './define-error.js';

export const illegalTransition = defineError<{ machine: string; from: string; to: string }>('ILLEGAL_TRANSITION', {
  fault: 'platform',
  retryable: false,
  status: 500,
  message: (d) => `${d.machine} cannot go from ${d.from} to ${d.to}`,
  help: 'A defect in Drover: report it with the log lines around it.',
});

/** What the server answered when it was not one of ours, or could not be understood. */
export const unexpectedAnswer = defineError<{ method: string; url: string; status: number; reason: string }>(
  'CLIENT_UNEXPECTED_ANSWER',
  {
    fault: 'platform',
    retryable: false,
    status: 502,
    message: (d) => `${d.method} ${d.url} answered ${d.status}: ${d.reason}`,
    help: 'The address is probably not a Drover server, or a proxy answered in its place: check the URL.',
  },
);

export const serverUnreachable = defineError<{ url: string; reason: string }>('CLIENT_SERVER_UNREACHABLE', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `cannot reach ${d.url}: ${d.reason}; start it with "drover up" or check the address`,
  help: 'Nothing answers at that address: start the platform with `drover up`, or point the client elsewhere.',
});

/** Names what cannot be sent and why, never the value: it may be a key. */
export const requestUnsendable = defineError<{ part: string; problem: string }>('CLIENT_REQUEST_UNSENDABLE', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) => `the request was not sent: ${d.part} ${d.problem}`,
  help: 'An argument has no place in an HTTP request: correct what the message names.',
});

export const contractErrors = { illegalTransition, unexpectedAnswer, serverUnreachable, requestUnsendable };
