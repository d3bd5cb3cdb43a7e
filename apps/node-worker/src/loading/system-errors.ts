/** An error of the worker, or of how an app uses it, not of the app's own code. Libraries check the marker property. */
export class SystemError extends Error {
  readonly isAzureFunctionsSystemError = true;
}

/** Libraries recognize an unknown hook by the error name: the worker is older than the library. */
export class UnknownHookError extends RangeError {
  override readonly name = 'RangeError';
  readonly isAzureFunctionsSystemError = true;
}

/** Thrown when code of the app assigns a read-only property. */
export class ReadOnlyError extends TypeError {
  override readonly name = 'TypeError';
  readonly isAzureFunctionsSystemError = true;

  constructor(property: string) {
    super(`Cannot assign to read only property '${property}'`);
  }
}

/** True for errors of the worker or of a library, false for those of the app's own code. */
export function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'isAzureFunctionsSystemError' in error && error.isAzureFunctionsSystemError === true;
}
