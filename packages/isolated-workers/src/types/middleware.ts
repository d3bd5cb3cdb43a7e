import type { MaybePromise } from './messages.js';

/** A message in the middleware of one side. */
export interface MiddlewareMessage {
  /** Seen from this side: what it sends is outgoing. */
  readonly direction: 'outgoing' | 'incoming';
  readonly type: string;
  /** Identifies the request and its response. */
  readonly tx: string | number;
  readonly value: unknown;
}

/** Receives a message and may return another value for it; undefined leaves it unchanged. An error fails the request. */
export type Middleware = (message: MiddlewareMessage) => MaybePromise<{ readonly value: unknown } | undefined | void>;
