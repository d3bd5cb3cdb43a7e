import type { MaybePromise } from './messages.js';

/** A message on its way through the middleware of one side. */
export interface MiddlewareMessage {
  /** As this side sees it: what it sends is outgoing. */
  readonly direction: 'outgoing' | 'incoming';
  readonly type: string;
  /** Names the request; its answer has the same. */
  readonly tx: string | number;
  readonly value: unknown;
}

/** Looks at a message and may return another value for it; undefined leaves it as it is. A throw fails the request. */
export type Middleware = (message: MiddlewareMessage) => MaybePromise<{ readonly value: unknown } | undefined | void>;
