import Type from 'typebox';
import { describe, expectTypeOf, it } from 'vitest';
import type { Client } from './client.js';
import type { controlRoutes } from './control-routes.js';
import { defineRoute, type RouteInput, type RouteOutput } from './route.js';

const plain = defineRoute({
  id: 'plain',
  method: 'GET',
  path: '/plain',
  about: 'Nothing goes in',
  access: 'public',
  responses: { 200: { about: 'Text', schema: Type.String() }, 503: { about: 'Number', schema: Type.Integer() } },
});

const full = defineRoute({
  id: 'full',
  method: 'PUT',
  path: '/full/{name}',
  about: 'All parts',
  access: 'control:write',
  params: Type.Object({ name: Type.String() }),
  query: Type.Object({ dry: Type.Optional(Type.Boolean()) }),
  body: Type.Object({ size: Type.Integer() }),
  responses: { 200: { about: 'Same', schema: Type.Object({ size: Type.Integer() }) }, 204: { about: 'Nothing' } },
});

const routes = { plain, full };

describe('a route', () => {
  it('asks for exactly the parts it declares', () => {
    expectTypeOf<RouteInput<typeof plain>>().toBeUnknown();
    expectTypeOf<RouteInput<typeof full>['params']>().toEqualTypeOf<{ name: string }>();
    expectTypeOf<RouteInput<typeof full>['query']>().toEqualTypeOf<{ dry?: boolean }>();
    expectTypeOf<RouteInput<typeof full>['body']>().toEqualTypeOf<{ size: number }>();
    expectTypeOf<keyof RouteInput<typeof full>>().toEqualTypeOf<'params' | 'query' | 'body'>();
  });

  it('tells its answers apart by status', () => {
    expectTypeOf<RouteOutput<typeof plain>>().toEqualTypeOf<
      { readonly status: 200; readonly body: string } | { readonly status: 503; readonly body: number }
    >();
    expectTypeOf<Extract<RouteOutput<typeof full>, { status: 204 }>['body']>().toBeUndefined();
  });

  it('keeps its exact type, so that access and method can be reasoned about', () => {
    expectTypeOf(full.access).toEqualTypeOf<'control:write'>();
    expectTypeOf(plain.access).toEqualTypeOf<'public'>();
    expectTypeOf(full.method).toEqualTypeOf<'PUT'>();
  });

  it('becomes a client method that takes its parts and resolves with the body of a success', () => {
    type Calls = Client<typeof routes>;
    expectTypeOf<Calls['plain']>().parameters.toEqualTypeOf<[]>();
    expectTypeOf<Calls['plain']>().returns.resolves.toEqualTypeOf<string>();
    expectTypeOf<Calls['full']>().parameters.toEqualTypeOf<[input: RouteInput<typeof full>]>();
    expectTypeOf<Calls['full']>().returns.resolves.toEqualTypeOf<{ size: number } | undefined>();
    expectTypeOf<Client<typeof controlRoutes>['revokeApiKey']>().returns.resolves.toBeUndefined();
  });

  it('does not compile with a scope, a method or an answer that do not exist', () => {
    // @ts-expect-error -- no such scope
    defineRoute({ ...plain, access: 'control:everything' });
    // @ts-expect-error -- no such method
    defineRoute({ ...plain, method: 'FETCH' });
    // @ts-expect-error -- it declares 200 and 503 only
    const answer: RouteOutput<typeof plain> = { status: 201, body: 'x' };
    expectTypeOf(answer).not.toBeAny();
  });
});
