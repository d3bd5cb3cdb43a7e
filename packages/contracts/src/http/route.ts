import type { Static, TSchema } from 'typebox';
import type { Scope } from '../api-key.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

export interface RouteResponse {
  readonly about: string;
  /** Absent: no body. */
  readonly schema?: TSchema;
  /** By default JSON. */
  readonly contentType?: string;
}

/** One operation of an HTTP API: the source of validation, types, client and OpenAPI. */
export interface Route {
  /** Name of the operation in OpenAPI and of the method of the client. */
  readonly id: string;
  readonly method: Method;
  /** With parameters in braces: `/control/keys/{keyId}`. */
  readonly path: string;
  readonly about: string;
  /** Scope that the caller's key needs; `public` needs no key. */
  readonly access: Scope | 'public';
  readonly params?: TSchema;
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** The schema of the body only documents it: the handler checks it, in order to report every problem at once. */
  readonly bodyCheck?: 'by-handler';
  /** The body is a file of this type, sent and received as a stream of bytes. */
  readonly upload?: { readonly contentType: string; readonly about: string };
  /** Request headers, only documented: the server of the route validates them. */
  readonly headers?: TSchema;
  /** By status. Errors of the catalogue need no entry: they share one body. */
  readonly responses: Readonly<Record<number, RouteResponse>>;
}

/** Declares one operation with its exact type. */
export function defineRoute<const R extends Route>(route: R): R {
  return route;
}

type Part<R extends Route, Name extends 'params' | 'query' | 'body'> =
  R extends Readonly<Record<Name, infer S extends TSchema>> ? Readonly<Record<Name, Static<S>>> : unknown;

/** Input of a call: exactly the parts that the route declares. `File` is the form in which a side has an uploaded file. */
export type RouteInput<R extends Route, File = Uint8Array<ArrayBuffer>> = Part<R, 'params'> &
  Part<R, 'query'> &
  Part<R, 'body'> &
  (R extends { readonly upload: object } ? { readonly upload: File } : unknown);

type BodyOf<Response> = Response extends { readonly schema: infer S extends TSchema } ? Static<S> : undefined;

/** Every response that the route declares, discriminated by status. */
export type RouteOutput<R extends Route> = {
  [Status in keyof R['responses'] & number]: {
    readonly status: Status;
    readonly body: BodyOf<R['responses'][Status]>;
  };
}[keyof R['responses'] & number];
