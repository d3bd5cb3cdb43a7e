import { isCodedError, type CodedError } from '@drover/contracts';
import type { InvocationOutcome } from '../invocations/invocation-call.js';
import { functionFailed, serverDraining } from './errors.js';

/** A request that ends with an error answer. */
export class Refused extends Error {
  /** What the caller is told. */
  readonly error: CodedError;
  /** Names the request in the log, where there is a better name than a new one. */
  readonly requestId: string | undefined;

  constructor(error: CodedError, requestId?: string, cause?: unknown) {
    super(error.message, { cause: cause ?? error });
    this.error = error;
    this.requestId = requestId;
  }
}

/** Whatever ended a request, as a refusal; undefined for what nobody expected. */
export function asRefused(error: unknown): Refused | undefined {
  if (error instanceof Refused) return error;
  return isCodedError(error) ? new Refused(withoutInside(error), undefined, error) : undefined;
}

/** What a caller hears of an invocation that did not succeed. */
export function toRefusal(outcome: Exclude<InvocationOutcome, { readonly kind: 'succeeded' }>): Refused {
  const { invocationId } = outcome;
  if (outcome.kind === 'rejected') return new Refused(functionFailed({}), invocationId, outcome.reason);
  const { error } = outcome;
  // Nobody on this side gave up, so the runtime did.
  if (error.status === 499) return new Refused(serverDraining({}), invocationId, error);
  return new Refused(withoutInside(error), invocationId, error);
}

/** That a function failed, but never how: the text of its error is nobody else's. */
function withoutInside(error: CodedError): CodedError {
  return error.fault === 'customer' && error.status === 500 ? functionFailed({}) : error;
}
