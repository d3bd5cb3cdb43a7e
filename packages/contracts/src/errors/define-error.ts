/** Who has to act: the caller of an API, the customer whose code or data it is, or whoever runs the platform. */
export type Fault = 'caller' | 'customer' | 'platform';

export interface ErrorTraits {
  readonly fault: Fault;
  /** The same call may succeed later without anybody changing anything. */
  readonly retryable: boolean;
  /** The HTTP status this error turns into at an API's edge. */
  readonly status: number;
}

/** An error with an identity that survives processes: compare `code` (see `hasCode`), never the class. */
export class CodedError extends Error implements ErrorTraits {
  readonly code: string;
  readonly fault: Fault;
  readonly retryable: boolean;
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, traits: ErrorTraits, message: string, details: object, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CodedError';
    this.code = code;
    this.fault = traits.fault;
    this.retryable = traits.retryable;
    this.status = traits.status;
    this.details = { ...details };
  }
}

export interface ErrorDefinition<Details extends object> extends ErrorTraits {
  (details: Details, cause?: unknown): CodedError;
  readonly code: string;
  /** One sentence for the catalogue: when this happens and what to do about it. */
  readonly help: string;
}

/** Declares one error of the catalogue; the result makes errors of that kind. */
export function defineError<Details extends object = Record<string, never>>(
  code: string,
  definition: ErrorTraits & { readonly help: string; readonly message: (details: Details) => string },
): ErrorDefinition<Details> {
  const { fault, retryable, status, help, message } = definition;
  const make = (details: Details, cause?: unknown): CodedError =>
    new CodedError(code, { fault, retryable, status }, message(details), details, cause);
  return Object.assign(make, { code, fault, retryable, status, help });
}

/** True when `error`, from this process or another, carries that code. */
export function hasCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}

export function isCodedError(error: unknown): error is CodedError {
  return error instanceof CodedError;
}
