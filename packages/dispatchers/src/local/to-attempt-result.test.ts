import { WorkerCrashedError } from '@drover/isolated-workers';
import { describe, expect, it } from 'vitest';
import { fromWorkerError } from './to-attempt-result.js';

describe('an error of the pool', () => {
  it.each([
    ['ERR_WORKER_CLOSED', 'LOCAL_UNAVAILABLE', true],
    ['ERR_WORKER_UNAVAILABLE', 'LOCAL_UNAVAILABLE', true],
    ['ERR_BACKPRESSURE', 'LOCAL_BUSY', true],
    ['ERR_SERIALIZATION', 'EXECUTION_FAILED', false],
    ['LOCAL_UNAVAILABLE', 'LOCAL_UNAVAILABLE', false],
    ['ERR_OF_ANOTHER_KIND', 'LOCAL_UNAVAILABLE', true],
  ])('%s becomes %s', (thrown, code, transient) => {
    const error = Object.assign(new Error('reason'), { code: thrown });
    expect(fromWorkerError(error)).toMatchObject({ kind: 'failed', code, transient });
  });

  const facts = {
    reason: { type: 'exit', code: 1, signal: null },
    pid: 1,
    exitCode: 1,
    signal: null,
    stderr: '',
    thrown: new RangeError('astray'),
    outOfMemory: false,
    uptimeMs: 1,
  } as const;

  it.each([
    [facts, 'the worker ended with exit code 1 while the handler ran: RangeError: astray'],
    [
      { ...facts, exitCode: null, signal: 'SIGKILL', thrown: undefined, outOfMemory: true },
      'the worker ended by SIGKILL, out of memory while the handler ran',
    ],
    [{ ...facts, exitCode: null, thrown: undefined }, 'the worker ended for an unknown reason while the handler ran'],
    [
      { ...facts, endedByHost: true },
      'the worker of the handler was ended because another call blocked its event loop',
    ],
  ])('of a crash says how the worker ended: %#', (crash, message) => {
    const result = fromWorkerError(new WorkerCrashedError('reason', crash.reason, 'run', 1, 1, crash));
    expect(result).toEqual({ kind: 'failed', code: 'LOCAL_WORKER_CRASHED', message, transient: true });
  });
});
