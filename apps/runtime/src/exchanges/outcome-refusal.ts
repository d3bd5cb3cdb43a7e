import { isCodedError, type CodedError } from '@drover/contracts';
import { bindingExpressionFailed, functionOutputInvalid, functionOutputUnsupported } from '../bindings/errors.js';
import { functionNotLoaded, outputFailed, outputRefused } from '../errors.js';
import type { InvocationOutcome } from '../invocations/invocation-call.js';
import { functionFailed, serverDraining } from './errors.js';

/** Ends a request with an error response. */
export class Refused extends Error {
  /** The error that the client receives. */
  readonly error: CodedError;
  /** Request id for the response and the log; undefined: a new one. */
  readonly requestId: string | undefined;
  /** The log has the exception of the function already, with its stack. */
  readonly isReported: boolean;

  constructor(error: CodedError, requestId?: string, cause?: unknown, isReported = false) {
    super(error.message, { cause: cause ?? error });
    this.error = error;
    this.requestId = requestId;
    this.isReported = isReported;
  }
}

/** Converts an error into a refusal. Returns undefined for unexpected errors. */
export function asRefused(error: unknown): Refused | undefined {
  if (error instanceof Refused) return error;
  return isCodedError(error) ? new Refused(withoutInside(error), undefined, error) : undefined;
}

/** Converts a failed invocation into a refusal. */
export function toRefusal(outcome: Exclude<InvocationOutcome, { readonly kind: 'succeeded' }>): Refused {
  const { invocationId } = outcome;
  const isReported = outcome.response?.result?.exception !== undefined;
  if (outcome.kind === 'rejected') return new Refused(functionFailed({}), invocationId, outcome.reason, isReported);
  const { error } = outcome;
  // The client is still connected, so the runtime cancelled the invocation.
  if (error.status === 499) return new Refused(serverDraining({}), invocationId, error);
  return new Refused(withoutInside(error), invocationId, error, isReported);
}

/** Errors whose text is not of the function: why it was not loaded, and why an output was not written after it ran. */
const shown: ReadonlySet<string> = new Set(
  [
    functionNotLoaded,
    outputFailed,
    outputRefused,
    functionOutputInvalid,
    functionOutputUnsupported,
    bindingExpressionFailed,
  ].map(({ code }) => code),
);

/** Hides the error text of a function: it may hold data that the client must not see. */
function withoutInside(error: CodedError): CodedError {
  if (shown.has(error.code)) return error;
  return error.fault === 'customer' && error.status === 500 ? functionFailed({}) : error;
}
