import { isCodedError } from '@drover/contracts';
import type { InvocationResponse } from '@drover/function-rpc';
import type { FunctionDefinition } from '../applications/function-definition.js';
import { httpAnswer, type HttpAnswer } from '../bindings/http-answer.js';
import { invocationFailed } from '../errors.js';
import type { InvocationOutcome } from '../invocations/invocation-call.js';
import { serverDraining } from '../exchanges/errors.js';
import { Refused } from '../exchanges/outcome-refusal.js';

/** Unlike a caller of the function's address, the control plane is told what the function said; never with its stack. */
export function callFailed(
  functionName: string,
  outcome: Exclude<InvocationOutcome, { readonly kind: 'succeeded' }>,
): Refused {
  const { invocationId } = outcome;
  if (outcome.kind === 'rejected')
    return new Refused(invocationFailed({ functionName, type: '', text: outcome.reason }), invocationId);
  // Nobody on this side gave up, so the runtime did.
  return new Refused(outcome.error.status === 499 ? serverDraining({}) : outcome.error, invocationId, outcome.error);
}

/** The response of a function with an HTTP trigger; what is wrong with it is told as well. */
export function answerOf(definition: FunctionDefinition, response: InvocationResponse): HttpAnswer {
  try {
    return httpAnswer(definition, response);
  } catch (error) {
    throw isCodedError(error) ? new Refused(error) : error;
  }
}
