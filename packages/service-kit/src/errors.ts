import { defineError } from '@drover/contracts';

export const configurationInvalid = defineError<{ process: string; problems: readonly string[] }>(
  'CONFIGURATION_INVALID',
  {
    fault: 'caller',
    retryable: false,
    status: 400,
    message: (d) =>
      `the configuration of ${d.process} has ${d.problems.length} problem${d.problems.length === 1 ? '' : 's'}:\n` +
      d.problems.map((problem) => `  - ${problem}`).join('\n'),
    help: 'Every problem is listed at once: correct those variables (docs/configuration.md) and start again.',
  },
);

export const mailboxFull = defineError<{ mailbox: string; capacity: number }>('MAILBOX_FULL', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `${d.mailbox} already holds ${d.capacity} jobs; try again in a moment`,
  help: 'More work arrives than this part finishes: try again later, or give it fewer callers.',
});

export const mailboxClosed = defineError<{ mailbox: string }>('MAILBOX_CLOSED', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `${d.mailbox} is stopping and takes no more jobs`,
  help: 'The process is going down: the call goes to another one, or succeeds once it is back.',
});

export const kitErrors = { configurationInvalid, mailboxFull, mailboxClosed };
