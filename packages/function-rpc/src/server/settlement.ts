import type { ProtoWriter } from '../codec/writer.js';
import { readAbandonRequest, type AbandonRequest } from '../generated/abandon-request.js';
import { readCompleteRequest, type CompleteRequest } from '../generated/complete-request.js';
import { readDeadletterRequest, type DeadletterRequest } from '../generated/deadletter-request.js';
import { readDeferRequest, type DeferRequest } from '../generated/defer-request.js';
import { readGetSessionStateRequest, type GetSessionStateRequest } from '../generated/get-session-state-request.js';
import { writeGetSessionStateResponse } from '../generated/get-session-state-response.js';
import { readReleaseSessionRequest, type ReleaseSessionRequest } from '../generated/release-session-request.js';
import { readRenewMessageLockRequest, type RenewMessageLockRequest } from '../generated/renew-message-lock-request.js';
import { readRenewSessionLockRequest, type RenewSessionLockRequest } from '../generated/renew-session-lock-request.js';
import { writeRenewSessionLockResponse } from '../generated/renew-session-lock-response.js';
import { readSetSessionStateRequest, type SetSessionStateRequest } from '../generated/set-session-state-request.js';
import type { UnaryCall, UnaryMethod } from './unary-call.js';

/**
 * Handles calls with which a worker settles a Service Bus message itself, or uses the session of one. A GrpcStatusError is sent to
 * the worker unchanged, any other error as INTERNAL.
 */
export interface SettlementHandlers {
  complete(request: CompleteRequest, call: UnaryCall): Promise<void> | void;
  abandon(request: AbandonRequest, call: UnaryCall): Promise<void> | void;
  defer(request: DeferRequest, call: UnaryCall): Promise<void> | void;
  deadletter(request: DeadletterRequest, call: UnaryCall): Promise<void> | void;
  renewMessageLock(request: RenewMessageLockRequest, call: UnaryCall): Promise<void> | void;
  /** Resolves with the state; empty if the session has none. */
  getSessionState(request: GetSessionStateRequest, call: UnaryCall): Promise<Uint8Array> | Uint8Array;
  setSessionState(request: SetSessionStateRequest, call: UnaryCall): Promise<void> | void;
  releaseSession(request: ReleaseSessionRequest, call: UnaryCall): Promise<void> | void;
  /** Resolves with the end of the lock. */
  renewSessionLock(request: RenewSessionLockRequest, call: UnaryCall): Promise<Date> | Date;
}

/** Returns the methods of the service by path. */
export function settlementMethods(handlers: SettlementHandlers): ReadonlyMap<string, UnaryMethod> {
  return new Map<string, UnaryMethod>([
    ['/Settlement/Complete', (reader, end, call) => handlers.complete(readCompleteRequest(reader, end), call)],
    ['/Settlement/Abandon', (reader, end, call) => handlers.abandon(readAbandonRequest(reader, end), call)],
    ['/Settlement/Defer', (reader, end, call) => handlers.defer(readDeferRequest(reader, end), call)],
    ['/Settlement/Deadletter', (reader, end, call) => handlers.deadletter(readDeadletterRequest(reader, end), call)],
    [
      '/Settlement/RenewMessageLock',
      (reader, end, call) => handlers.renewMessageLock(readRenewMessageLockRequest(reader, end), call),
    ],
    [
      '/Settlement/GetSessionState',
      async (reader, end, call) => {
        const sessionState = await handlers.getSessionState(readGetSessionStateRequest(reader, end), call);
        return (writer: ProtoWriter) => writeGetSessionStateResponse(writer, { sessionState });
      },
    ],
    [
      '/Settlement/SetSessionState',
      (reader, end, call) => handlers.setSessionState(readSetSessionStateRequest(reader, end), call),
    ],
    [
      '/Settlement/ReleaseSession',
      (reader, end, call) => handlers.releaseSession(readReleaseSessionRequest(reader, end), call),
    ],
    [
      '/Settlement/RenewSessionLock',
      async (reader, end, call) => {
        const until = await handlers.renewSessionLock(readRenewSessionLockRequest(reader, end), call);
        return (writer: ProtoWriter) => writeRenewSessionLockResponse(writer, { lockedUntil: toTimestamp(until) });
      },
    ],
  ]);
}

function toTimestamp(date: Date): { readonly seconds: number; readonly nanos: number } {
  const ms = date.getTime();
  const seconds = Math.floor(ms / 1000);
  return { seconds, nanos: (ms - seconds * 1000) * 1_000_000 };
}
