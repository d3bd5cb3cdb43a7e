import type { ExecutionError } from '@drover/contracts';
import { notKeptYet } from './errors.js';

export const cancelledOnRequest: ExecutionError = {
  code: 'EXECUTION_CANCELLED',
  message: 'The execution was cancelled on request.',
};

export const callerLeft: ExecutionError = {
  code: 'CALLER_LEFT',
  message: 'The caller closed its connection before the function had answered.',
};

export const noCallerWaits: ExecutionError = {
  code: 'QUEUE_TIMEOUT',
  message: 'No caller waited for the execution any more before it started.',
};

export const withdrawnLate: ExecutionError = {
  code: notKeptYet.code,
  message: 'The database confirmed the call after its caller had been told that it was not accepted.',
};

export function functionGone(name: string): ExecutionError {
  return { code: 'FUNCTION_REMOVED', message: `Function ${name} was removed.` };
}
