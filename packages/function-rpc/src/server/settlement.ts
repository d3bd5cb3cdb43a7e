import { readAbandonRequest, type AbandonRequest } from '../generated/abandon-request.js';
import { readCompleteRequest, type CompleteRequest } from '../generated/complete-request.js';
import { readDeadletterRequest, type DeadletterRequest } from '../generated/deadletter-request.js';
import { readDeferRequest, type DeferRequest } from '../generated/defer-request.js';
import type { UnaryCall, UnaryMethod } from './unary-method.js';

/**
 * What happens when a worker settles a Service Bus message itself. A GrpcStatusError that is thrown reaches the worker as it
 * is; any other error only as INTERNAL.
 */
export interface SettlementHandlers {
  complete(request: CompleteRequest, call: UnaryCall): Promise<void> | void;
  abandon(request: AbandonRequest, call: UnaryCall): Promise<void> | void;
  defer(request: DeferRequest, call: UnaryCall): Promise<void> | void;
  deadletter(request: DeadletterRequest, call: UnaryCall): Promise<void> | void;
}

/** The methods of the service, by their paths. */
export function settlementMethods(handlers: SettlementHandlers): ReadonlyMap<string, UnaryMethod> {
  return new Map<string, UnaryMethod>([
    ['/Settlement/Complete', (reader, end, call) => handlers.complete(readCompleteRequest(reader, end), call)],
    ['/Settlement/Abandon', (reader, end, call) => handlers.abandon(readAbandonRequest(reader, end), call)],
    ['/Settlement/Defer', (reader, end, call) => handlers.defer(readDeferRequest(reader, end), call)],
    ['/Settlement/Deadletter', (reader, end, call) => handlers.deadletter(readDeadletterRequest(reader, end), call)],
  ]);
}
