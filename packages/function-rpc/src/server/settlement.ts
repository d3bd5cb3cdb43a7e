import { readAbandonRequest, type AbandonRequest } from '../generated/abandon-request.js';
import { readCompleteRequest, type CompleteRequest } from '../generated/complete-request.js';
import { readDeadletterRequest, type DeadletterRequest } from '../generated/deadletter-request.js';
import { readDeferRequest, type DeferRequest } from '../generated/defer-request.js';
import type { UnaryCall, UnaryMethod } from './unary-call.js';

/**
 * Handles calls with which a worker settles a Service Bus message itself. A GrpcStatusError is sent to the worker unchanged,
 * any other error as INTERNAL.
 */
export interface SettlementHandlers {
  complete(request: CompleteRequest, call: UnaryCall): Promise<void> | void;
  abandon(request: AbandonRequest, call: UnaryCall): Promise<void> | void;
  defer(request: DeferRequest, call: UnaryCall): Promise<void> | void;
  deadletter(request: DeadletterRequest, call: UnaryCall): Promise<void> | void;
}

/** Returns the methods of the service by path. */
export function settlementMethods(handlers: SettlementHandlers): ReadonlyMap<string, UnaryMethod> {
  return new Map<string, UnaryMethod>([
    ['/Settlement/Complete', (reader, end, call) => handlers.complete(readCompleteRequest(reader, end), call)],
    ['/Settlement/Abandon', (reader, end, call) => handlers.abandon(readAbandonRequest(reader, end), call)],
    ['/Settlement/Defer', (reader, end, call) => handlers.defer(readDeferRequest(reader, end), call)],
    ['/Settlement/Deadletter', (reader, end, call) => handlers.deadletter(readDeadletterRequest(reader, end), call)],
  ]);
}
