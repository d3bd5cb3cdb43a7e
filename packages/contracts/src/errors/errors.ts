import { defineError } from './define-error.js';

export const illegalTransition = defineError<{ machine: string; from: string; to: string }>('ILLEGAL_TRANSITION', {
  fault: 'platform',
  retryable: false,
  status: 500,
  message: (d) => `The ${d.machine} cannot go from ${d.from} to ${d.to}. Report this as a defect in Drover.`,
  help: 'A defect in Drover. Report it with the log lines around it.',
});

/** The response was not one of a Drover server, or could not be parsed. */
export const unexpectedAnswer = defineError<{ method: string; url: string; status: number; reason: string }>(
  'CLIENT_UNEXPECTED_ANSWER',
  {
    fault: 'platform',
    retryable: false,
    status: 502,
    message: (d) =>
      `${d.method} ${d.url} returned an unexpected response with status ${d.status}: ${d.reason}. Check that the URL is a Drover server.`,
    help: 'The address is probably not a Drover server, or a proxy responded in its place. Check the URL.',
  },
);

export const serverUnreachable = defineError<{ url: string; reason: string }>('CLIENT_SERVER_UNREACHABLE', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) =>
    `The server at ${d.url} cannot be reached: ${d.reason}. Start it with "drover up", or correct the address.`,
  help: 'No server listens at that address. Start the platform with `drover up`, or correct the address of the client.',
});

/** Names the part that cannot be sent and the reason, but not the value, which may be a key. */
export const requestUnsendable = defineError<{ part: string; problem: string }>('CLIENT_REQUEST_UNSENDABLE', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) => `The request was not sent: ${d.part} ${d.problem}. Correct it and try again.`,
  help: 'An argument cannot be sent in an HTTP request. Correct what the message names.',
});

export const contractErrors = { illegalTransition, unexpectedAnswer, serverUnreachable, requestUnsendable };
