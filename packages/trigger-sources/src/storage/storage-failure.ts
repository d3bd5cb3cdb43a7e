/**
 * - denied: the key is wrong or lacks a permission
 * - throttled: the account limits the request rate
 * - refused: the request is invalid; a retry cannot succeed
 * - unavailable: no response, or an error of the service
 */
export type StorageFailure = 'denied' | 'throttled' | 'refused' | 'unavailable';

/** Says what to do about a failure that all services share. */
export function describeStorageFailure(failure: StorageFailure, setting: string): string {
  switch (failure) {
    case 'denied':
      return `access is denied; check the key or signature in the setting ${setting}`;
    case 'throttled':
      return 'the storage account throttles requests';
    case 'refused':
      return 'the service rejects the request';
    case 'unavailable':
      return `the storage account of the setting ${setting} does not respond`;
  }
}

/** Classifies the error of a request by the codes of its service, else by the HTTP status. */
export function classifyStorageError<Own extends string>(
  error: unknown,
  codes: Readonly<Record<string, Own | StorageFailure>>,
): Own | StorageFailure {
  const { code, statusCode } = (typeof error === 'object' && error !== null ? error : {}) as Readonly<
    Record<'code' | 'statusCode', unknown>
  >; // absent ones read as undefined
  const known = typeof code === 'string' && Object.hasOwn(codes, code) ? codes[code] : undefined;
  if (known) return known;
  if (code === 'ServerBusy') return 'throttled';
  if (typeof statusCode !== 'number') return 'unavailable';
  if (statusCode === 401 || statusCode === 403) return 'denied';
  if (statusCode === 429) return 'throttled';
  // 408: the service timed out reading the request. A 404 without a code comes from a proxy in between.
  if (statusCode >= 400 && statusCode < 500 && statusCode !== 408 && statusCode !== 404) return 'refused';
  return 'unavailable';
}

/** Whether a retry of the same request may succeed soon, without a change of settings. */
export function isTransient(failure: string): boolean {
  return failure === 'unavailable' || failure === 'throttled';
}

/** Describes an error for the message of another one: what to do about it if that is known, and what the service said. */
export function storageReason(error: unknown, failure: string, setting: string): string {
  const text = error instanceof Error ? error.message : String(error);
  switch (failure) {
    case 'denied':
    case 'throttled':
    case 'unavailable':
      return `${describeStorageFailure(failure, setting)}: ${text}`;
    default:
      return text;
  }
}
