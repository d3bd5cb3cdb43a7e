import type { InFlight } from '../execution/in-flight.js';
import type { MessageHandler } from './dispatch.js';

/** Aborts the signal of an invocation; the function decides how it ends. Ignores an invocation that has ended. */
export function invocationCancel({ inFlight }: { readonly inFlight: InFlight }): MessageHandler<'invocationCancel'> {
  return ({ value: { invocationId } }) => {
    inFlight.find(invocationId)?.cancel(`Invocation ${invocationId} was cancelled by the host.`);
  };
}
