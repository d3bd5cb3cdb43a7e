import { expect, it } from 'vitest';
import { WorkerCrashedError } from './errors.js';

it('a WorkerCrashedError is made of message, reason, message type, attempt and limit of attempts', () => {
  const reason = { type: 'exit', code: null, signal: 'SIGKILL' } as const;
  const error = new WorkerCrashedError('Worker crashed', reason, 'resize', 2, 3);
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({
    name: 'WorkerCrashedError',
    message: 'Worker crashed',
    code: 'ERR_WORKER_CRASHED',
    reason,
    messageType: 'resize',
    attempt: 2,
    maxAttempts: 3,
    exitCode: null,
    signal: 'SIGKILL',
    pid: undefined,
    stderr: '',
    outOfMemory: false,
    endedByHost: false,
  });
  const ended = new WorkerCrashedError('Worker crashed', { type: 'close' }, 'resize', 1, 1, { exitCode: 7, pid: 12 });
  expect(ended).toMatchObject({ exitCode: 7, signal: null, pid: 12 });
});
