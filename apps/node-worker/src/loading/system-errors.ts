/** An error of the worker or of how an app uses it, as opposed to one of the app's own code. The mark is what libraries look for. */
export class SystemError extends Error {
  readonly isAzureFunctionsSystemError = true;
}

/** Libraries tell an unknown hook by its name: it means that the worker is too old for them. */
export class UnknownHookError extends RangeError {
  override readonly name = 'RangeError';
  readonly isAzureFunctionsSystemError = true;
}

/** Somebody set what can only be changed from within. */
export class ReadOnlyError extends TypeError {
  override readonly name = 'TypeError';
  readonly isAzureFunctionsSystemError = true;

  constructor(property: string) {
    super(`Cannot assign to read only property '${property}'`);
  }
}

/** True for errors of the worker or of a library, which are not the app's own. */
export function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'isAzureFunctionsSystemError' in error && error.isAzureFunctionsSystemError === true;
}
