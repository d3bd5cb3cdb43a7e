import {
  SerializationError,
  UnsupportedOptionError,
  WorkerCrashedError,
  WorkerUnavailableError,
  type CrashFacts,
} from '../types/errors.js';

/** Returns the error for a request that a worker with this end had started. */
export function workerCrashed(
  facts: CrashFacts,
  request: { readonly messageType: string; readonly attempt: number; readonly maxAttempts: number },
): WorkerCrashedError {
  const { messageType, attempt, maxAttempts } = request;
  const tries = maxAttempts > 1 ? `after ${attempt} attempts` : 'unexpectedly';
  const message = `Worker crashed ${tries} while processing '${messageType}' (${endOf(facts)})${detailOf(facts)}`;
  return new WorkerCrashedError(message, facts.reason, messageType, attempt, maxAttempts, facts);
}

/** Returns the error for requests without a worker: why there is none, and how the last one ended. */
export function unavailableAfter(why: string, facts: CrashFacts): WorkerUnavailableError {
  return new WorkerUnavailableError(`${why} (${endOf(facts)})${detailOf(facts)}`, { ...facts, cause: causeOf(facts) });
}

/** Returns an error like this one for another request: each caller gets an error of its own. */
export function unavailableLike(error: Error): WorkerUnavailableError {
  return new WorkerUnavailableError(error.message, error instanceof WorkerUnavailableError ? error : { cause: error });
}

/** Returns why a worker never got ready. Mistakes in the options are returned as they are: no later start helps. */
export function startFailure(facts: CrashFacts): Error {
  const { reason, stderr, pid } = facts;
  if (reason.type === 'error' && pid === undefined) {
    const { error } = reason;
    if (error instanceof SerializationError || error instanceof UnsupportedOptionError) return error;
    const message = `The worker could not be started: ${error.message}.${spawnAdvice(error)}`;
    return new WorkerUnavailableError(message, { ...facts, cause: error });
  }
  // All its output is shown where no error can be named: a script that ends by itself may have said why.
  const detail = causeOf(facts) || stderr.trim() === '' ? detailOf(facts) : `:\n${stderr.trim()}`;
  const message = `The worker ended before it was ready (${endOf(facts)})${detail}`;
  return new WorkerUnavailableError(message, { ...facts, cause: causeOf(facts) });
}

/** Returns why a worker was killed that did not get ready in time: what it printed may tell what it waits for. */
export function startTimeout(startupMs: number, facts: CrashFacts): WorkerUnavailableError {
  const output = facts.stderr.trim();
  const advice = output ? `Its output:\n${output}` : 'Check the script, or raise timeout.startup.';
  const message = `The worker did not call startWorkerServer within ${startupMs} ms. ${advice}`;
  return new WorkerUnavailableError(message, { ...facts, cause: causeOf(facts) });
}

function causeOf({ reason, thrown }: CrashFacts): Error | undefined {
  return reason.type === 'error' ? reason.error : thrown;
}

/** Returns how a worker ended: signal or exit code where the system reported one. */
function endOf({ reason, exitCode, signal, outOfMemory, pid }: CrashFacts): string {
  const how =
    signal !== null
      ? `signal ${signal}`
      : exitCode !== null
        ? `exit code ${exitCode}`
        : reason.type === 'error'
          ? reason.error.message
          : 'its connection closed';
  return `${how}${outOfMemory ? ', out of memory' : ''}${pid === undefined ? '' : `, pid ${pid}`}`;
}

/** Returns the thrown error with its stack, or the last line of the output. Begins with a colon if it is not empty. */
function detailOf(facts: CrashFacts): string {
  const { reason, exitCode, signal, stderr } = facts;
  const cause = causeOf(facts);
  if (cause && reason.type === 'error' && exitCode === null && signal === null) return ''; // `endOf` has it
  if (cause instanceof SerializationError) return `: ${cause.message}`; // its stack is that of this library
  const last = cause?.stack ?? stderr.trim().split('\n').at(-1);
  return last ? `: ${last}` : '';
}

/** Returns what to do about an error of the system, by its code. */
function spawnAdvice(error: Error): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EMFILE':
    case 'ENFILE':
      return ' Close files, or raise the limit of open files.';
    case 'EAGAIN':
    case 'ENOMEM':
      return ' Run fewer workers, or raise the limits of processes and memory.';
    case 'ENOENT':
    case 'EACCES':
      return ` Check that ${process.execPath} and the working directory exist and are accessible.`;
    default:
      return '';
  }
}
