import {
  SerializationError,
  UnsupportedOptionError,
  WorkerUnavailableError,
  type CrashFacts,
} from '../types/errors.js';

/** Returns the error for requests without a worker, with what is known of the end of the last one. */
export function unavailableAfter(message: string, facts: CrashFacts): WorkerUnavailableError {
  return new WorkerUnavailableError(message, { ...facts, cause: causeOf(facts) });
}

/** Returns an error like this one for another request: each caller gets an error of its own. */
export function unavailableLike(error: Error): WorkerUnavailableError {
  return new WorkerUnavailableError(error.message, error instanceof WorkerUnavailableError ? error : { cause: error });
}

/** Returns why a worker never got ready. Mistakes in the options are returned as they are: no later start helps. */
export function startFailure(facts: CrashFacts): Error {
  const { exitCode, signal, reason, stderr, pid } = facts;
  if (reason.type === 'error' && pid === undefined) {
    const { error } = reason;
    if (error instanceof SerializationError || error instanceof UnsupportedOptionError) return error;
    return unavailableAfter(`The worker could not be started: ${error.message}.${spawnAdvice(error)}`, facts);
  }
  const how =
    reason.type === 'error' ? reason.error.message : signal !== null ? `signal ${signal}` : `exit code ${exitCode}`;
  const output = stderr.trim();
  return unavailableAfter(`The worker ended before it was ready (${how})${output ? `:\n${output}` : ''}`, facts);
}

function causeOf({ reason }: CrashFacts): Error | undefined {
  return reason.type === 'error' ? reason.error : undefined;
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
