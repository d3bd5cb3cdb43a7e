import type { Static, TSchema } from 'typebox';
import type { Scope } from '../api-key.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

export interface RouteResponse {
  readonly about: string;
  /** Absent: no body. */
  readonly schema?: TSchema;
  /** JSON unless told otherwise. */
  readonly contentType?: string;
}

/** One operation of an HTTP API: validation, types, client and OpenAPI all come from this. */
export interface Route {
  /** Names the operation in OpenAPI and the method of the client. */
  readonly id: string;
  readonly method: Method;
  /** With parameters in braces: `/control/keys/{keyId}`. */
  readonly path: string;
  readonly about: string;
  /** What the caller's key must be good for; `public` asks for no key at all. */
  readonly access: Scope | 'public';
  readonly params?: TSchema;
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** Of the request, as the document describes them; whoever serves the route checks them. */
  readonly headers?: TSchema;
  /** By status. Errors of the catalogue need no entry: they have one shape. */
  readonly responses: Readonly<Record<number, RouteResponse>>;
}

/** Declares one operation and keeps its exact type. */
export function defineRoute<const R extends Route>(route: R): R {
  return route;
}

type Part<R extends Route, Name extends 'params' | 'query' | 'body'> =
  R extends Readonly<Record<Name, infer S extends TSchema>> ? Readonly<Record<Name, Static<S>>> : unknown;

/** What a caller hands in: exactly the parts the route declares. */
export type RouteInput<R extends Route> = Part<R, 'params'> & Part<R, 'query'> & Part<R, 'body'>;

type BodyOf<Response> = Response extends { readonly schema: infer S extends TSchema } ? Static<S> : undefined;

/** Every answer the route declares, told apart by status. */
export type RouteOutput<R extends Route> = {
  [Status in keyof R['responses'] & number]: {
    readonly status: Status;
    readonly body: BodyOf<R['responses'][Status]>;
  };
}[keyof R['responses'] & number];
