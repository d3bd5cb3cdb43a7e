import { continueTrace, toTraceparent, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import type { Deliver } from '@drover/trigger-sources';
import type { FunctionDefinition } from '../applications/function-definition.js';
import { deliveryInputs } from '../bindings/delivery-inputs.js';
import type { InvocationOutcome, Invoker } from '../invocations/invocation-call.js';
import type { DeliveryObservation } from './delivery-observations.js';
import { settle } from './settle.js';

interface DeliverOptions {
  readonly invoker: Invoker;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<DeliveryObservation>;
  readonly backOffMs: number;
  readonly maxBackOffMs: number;
}

/** Returns the handler that runs a function for each delivery of its source and settles it. */
export function deliverTo(definition: FunctionDefinition, options: DeliverOptions): Deliver {
  const { invoker, randomness, observe, backOffMs, maxBackOffMs } = options;
  return async (delivery, lost) => {
    const { inputs, bindingData } = deliveryInputs(definition.trigger, delivery);
    const trace = continueTrace(delivery.traceparent, randomness);
    const outcome = await invoker.invoke({
      definition,
      inputs,
      bindingData,
      messageId: delivery.id ?? messageIdOf(delivery.metadata),
      trace: { traceParent: toTraceparent(trace) },
      signal: lost,
    });
    const settlement = settle(outcome, { deliveryCount: delivery.deliveryCount, backOffMs, maxBackOffMs });
    observe({
      kind: 'message.settled',
      function: definition.name,
      settlement: settlement.kind,
      deliveryCount: delivery.deliveryCount,
      why: whyFailed(outcome),
    });
    return settlement;
  };
}

/** Sources name the id of a message in their own way. */
function messageIdOf({ Id, MessageId = Id }: Readonly<Record<string, unknown>>): string | undefined {
  return typeof MessageId === 'string' && MessageId !== '' ? MessageId : undefined;
}

/** The reason for the log: no caller waits for the outcome of a delivery. */
function whyFailed(outcome: InvocationOutcome): string | undefined {
  if (outcome.kind === 'succeeded') return undefined;
  return outcome.kind === 'rejected' ? `rejected: ${outcome.reason}` : outcome.error.message;
}
