/** The party that has to act: the caller of an API, the customer who owns the code or data, or the operator of the platform. */
export type Fault = 'caller' | 'customer' | 'platform';

export interface ErrorTraits {
  readonly fault: Fault;
  /** The same call may succeed later without a change. */
  readonly retryable: boolean;
  /** HTTP status of a response with this error. */
  readonly status: number;
  /** What a caller can do about a fault of the platform, whose message it does not see. */
  readonly advice?: string | undefined;
  /** When this happens and what to do about it: the same text for every such error, so it discloses nothing. */
  readonly help?: string | undefined;
}

/** An error whose identity is its `code`, also across processes: compare it with `hasCode`, never by class. */
export class CodedError extends Error implements ErrorTraits {
  readonly code: string;
  readonly fault: Fault;
  readonly retryable: boolean;
  readonly status: number;
  readonly advice: string | undefined;
  readonly help: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, traits: ErrorTraits, message: string, details: object, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CodedError';
    this.code = code;
    this.fault = traits.fault;
    this.retryable = traits.retryable;
    this.status = traits.status;
    this.advice = traits.advice;
    this.help = traits.help;
    this.details = { ...details };
  }
}

export interface ErrorDefinition<Details extends object> extends ErrorTraits {
  (details: Details, cause?: unknown): CodedError;
  readonly code: string;
  /** Text of docs/errors.md: when this happens and what to do about it. */
  readonly help: string;
}

/** Declares an error of the catalogue. The result is a function that creates such errors. */
export function defineError<Details extends object = Record<string, never>>(
  code: string,
  definition: ErrorTraits & { readonly help: string; readonly message: (details: Details) => string },
): ErrorDefinition<Details> {
  const { fault, retryable, status, help, message } = definition;
  const make = (details: Details, cause?: unknown): CodedError =>
    new CodedError(code, definition, message(details), details, cause);
  return Object.assign(make, { code, fault, retryable, status, help });
}

/** True if `error`, of this process or another, has that code. */
export function hasCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}

export function isCodedError(error: unknown): error is CodedError {
  return error instanceof CodedError;
}
