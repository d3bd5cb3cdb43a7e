import { isCodedError } from '@drover/contracts';
import type { InvocationResponse } from '@drover/function-rpc';
import type { FunctionDefinition } from '../applications/function-definition.js';
import { httpAnswer, type HttpAnswer } from '../bindings/http-answer.js';
import { invocationFailed } from '../errors.js';
import type { InvocationOutcome } from '../invocations/invocation-call.js';
import { serverDraining } from '../exchanges/errors.js';
import { Refused } from '../exchanges/outcome-refusal.js';

/** Converts a failed call into a refusal. Unlike HTTP clients, the control plane gets the error text; never the stack. */
export function callFailed(
  functionName: string,
  outcome: Exclude<InvocationOutcome, { readonly kind: 'succeeded' }>,
): Refused {
  const { invocationId } = outcome;
  if (outcome.kind === 'rejected')
    return new Refused(invocationFailed({ functionName, type: '', text: outcome.reason }), invocationId);
  // The control plane is still connected, so the runtime cancelled the invocation.
  return new Refused(outcome.error.status === 499 ? serverDraining({}) : outcome.error, invocationId, outcome.error);
}

/** Returns the response of a function with an HTTP trigger. An invalid response is refused with its reason. */
export function answerOf(definition: FunctionDefinition, response: InvocationResponse): HttpAnswer {
  try {
    return httpAnswer(definition, response);
  } catch (error) {
    throw isCodedError(error) ? new Refused(error) : error;
  }
}
