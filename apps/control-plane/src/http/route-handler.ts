import type { Caller } from '@drover/collection-engine';
import type { Route, RouteInput, RouteOutput } from '@drover/contracts';

/** Public routes have no caller; all others have one that holds the route's scope. */
type CallerOf<R extends Route> = R['access'] extends 'public'
  ? { readonly caller?: undefined }
  : { readonly caller: Caller };

/** What a handler needs to ask the other replicas the same. */
export interface Origin {
  /** Path and query. */
  readonly address: string;
  readonly authorization: string | undefined;
  /** Another replica asks: the answer is about this replica only. */
  readonly isForwarded: boolean;
  /** The `Prefer` header: whether the caller waits until a change holds everywhere. */
  readonly prefer: string | undefined;
}

export type RouteRequest<R extends Route> = RouteInput<R, AsyncIterable<Uint8Array>> &
  CallerOf<R> & { readonly origin: Origin };

/** A route and its implementation. */
export interface RouteHandler {
  readonly route: Route;
  readonly answer: (request: never) => Promise<{
    readonly status: number;
    readonly body: unknown;
    readonly headers?: Readonly<Record<string, string>>;
  }>;
}

/** Binds an implementation to its route: input and every answer are checked by the compiler. */
export function handle<R extends Route>(
  route: R,
  answer: (request: RouteRequest<R>) => Promise<RouteOutput<R>>,
): RouteHandler {
  return { route, answer };
}

/** Makes an answer whose status keeps its literal type. */
export function reply<const Status extends number, Body>(
  status: Status,
  body: Body,
): { readonly status: Status; readonly body: Body } {
  return { status, body };
}
