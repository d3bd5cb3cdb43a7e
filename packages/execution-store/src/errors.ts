import { defineError } from '@drover/contracts';

export const executionHomeLost = defineError<{ partition: number }>('EXECUTION_HOME_LOST', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) =>
    `this replica is not the home of partition ${d.partition}, not yet or not any more, and wrote nothing; try again, and its home will answer`,
  help: 'The functions of that partition have moved to another replica of the control plane: try again.',
});

export const executionStoreFull = defineError<{ waitingBytes: number; limitBytes: number }>('EXECUTION_STORE_FULL', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) =>
    `${d.waitingBytes} bytes of executions wait for the database, and ${d.limitBytes} is the limit; try again once it keeps up`,
  help: 'The database is away or slower than the calls that come in: look at it. Nothing that was accepted is lost.',
});

export const executionStoreStopped = defineError('EXECUTION_STORE_STOPPED', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: () =>
    'the execution store stopped before this was written; try again at another replica, or after the restart',
  help: 'The control plane is stopping. What was accepted and has not ended runs again at the next home.',
});

export const journalUnreadable = defineError<{ partition: number; token: number; number: number; problem: string }>(
  'EXECUTION_JOURNAL_UNREADABLE',
  {
    fault: 'platform',
    retryable: false,
    status: 500,
    message: (d) =>
      `journal row (${d.partition}, ${d.token}, ${d.number}) of drover.execution_journal cannot be read: ${d.problem}; start the release that wrote it, or move the row elsewhere`,
    help: 'A newer Drover, or something else, wrote that row: start the release that did. While it is there its partition has no home.',
  },
);

export const executionErrors = { executionHomeLost, executionStoreFull, executionStoreStopped, journalUnreadable };
