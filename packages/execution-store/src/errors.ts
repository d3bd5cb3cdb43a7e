import { defineError } from '@drover/contracts';

export const partitionLost = defineError<{ partition: number }>('EXECUTION_HOME_LOST', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) =>
    `This replica does not own partition ${d.partition}, so nothing was written. Try again: the owner of the partition will answer.`,
  help: 'The functions of the partition have moved to another replica of the control plane. Try again.',
});

export const executionStoreFull = defineError<{ waitingBytes: number; limitBytes: number }>('EXECUTION_STORE_FULL', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) =>
    `The execution store has ${d.waitingBytes} bytes waiting for the database, of ${d.limitBytes} allowed. Try again when the database has caught up.`,
  help: 'The database is unavailable, or slower than the incoming calls: check its health. No accepted execution is lost.',
});

export const executionStoreStopped = defineError('EXECUTION_STORE_STOPPED', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: () =>
    'The execution store stopped before this was written. Try again at another replica, or after the restart.',
  help: 'The control plane is stopping. The next owner of the partition runs every accepted execution that has not ended.',
});

export const journalUnreadable = defineError<{ partition: number; token: number; number: number; problem: string }>(
  'EXECUTION_JOURNAL_UNREADABLE',
  {
    fault: 'platform',
    retryable: false,
    status: 500,
    message: (d) =>
      `Row (${d.partition}, ${d.token}, ${d.number}) of drover.execution_journal cannot be read: ${d.problem}. Start the release that wrote it, or move the row to another table.`,
    help: 'A newer release of Drover, or another program, wrote the row. Start that release. Until the row can be read or is removed, its partition has no owner.',
  },
);

export const executionErrors = { partitionLost, executionStoreFull, executionStoreStopped, journalUnreadable };
