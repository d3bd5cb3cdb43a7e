import type { InFlight } from '../execution/in-flight.js';
import type { MessageHandler } from '../stream/host-stream.js';

/** Aborts the signal of an invocation; how it ends is up to the function. One that is over has nothing to cancel. */
export function invocationCancel({ inFlight }: { readonly inFlight: InFlight }): MessageHandler<'invocationCancel'> {
  return ({ value: { invocationId } }) => {
    inFlight.find(invocationId)?.cancel(`Invocation ${invocationId} was cancelled by the host.`);
  };
}
