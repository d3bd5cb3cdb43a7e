import Type, { type Static } from 'typebox';
import { ApiKey, CreatedApiKey, NewApiKey, Scope } from '../api-key.js';
import { defineRoute } from './route.js';

export const HealthDocument = Type.Object({
  status: Type.String({ description: 'starting, ready, draining or stopped' }),
  problems: Type.Record(Type.String(), Type.String(), { description: 'Why it takes no work, by part' }),
});

export const StatusDocument = Type.Object({
  version: Type.String(),
  startedAt: Type.String({ format: 'date-time' }),
  database: Type.Object({
    version: Type.String({ description: "The server's own version" }),
    schema: Type.Record(Type.String(), Type.Integer(), { description: 'Newest migration, by component' }),
  }),
  events: Type.Object({ lastPosition: Type.Integer({ description: 'Position of the newest event on the bus' }) }),
});
export type StatusDocument = Static<typeof StatusDocument>;

/** Wide enough for every id of today and tomorrow, too narrow for a whole key with its secret. */
const KeyId = Type.String({ maxLength: 32, pattern: '^[A-Za-z0-9]+$' });

const Caller = Type.Object({ keyId: Type.String(), tenantId: Type.String(), scopes: Type.Array(Scope) });

/** What the control plane serves today. */
export const controlRoutes = {
  getHealth: defineRoute({
    id: 'getHealth',
    method: 'GET',
    path: '/healthz',
    about: 'Whether the process lives',
    access: 'public',
    responses: { 200: { about: 'It does', schema: HealthDocument } },
  }),
  getReadiness: defineRoute({
    id: 'getReadiness',
    method: 'GET',
    path: '/readyz',
    about: 'Whether the process takes work',
    access: 'public',
    responses: {
      200: { about: 'It does', schema: HealthDocument },
      503: { about: 'Not now, and why', schema: HealthDocument },
    },
  }),
  getOpenApi: defineRoute({
    id: 'getOpenApi',
    method: 'GET',
    path: '/openapi.json',
    about: 'This document',
    access: 'public',
    responses: { 200: { about: 'OpenAPI 3.1', schema: Type.Unknown() } },
  }),
  getMetrics: defineRoute({
    id: 'getMetrics',
    method: 'GET',
    path: '/metrics',
    about: 'Figures of this process, for Prometheus',
    access: 'control:read',
    responses: { 200: { about: 'Prometheus text', schema: Type.String(), contentType: 'text/plain' } },
  }),
  getStatus: defineRoute({
    id: 'getStatus',
    method: 'GET',
    path: '/control/status',
    about: 'What runs here',
    access: 'control:read',
    responses: { 200: { about: 'Versions and positions', schema: StatusDocument } },
  }),
  getCaller: defineRoute({
    id: 'getCaller',
    method: 'GET',
    path: '/control/whoami',
    about: 'Whom the platform takes you for',
    access: 'control:read',
    responses: { 200: { about: 'The key you came with', schema: Caller } },
  }),
  listApiKeys: defineRoute({
    id: 'listApiKeys',
    method: 'GET',
    path: '/control/keys',
    about: 'The keys of your tenant, oldest first',
    access: 'control:read',
    query: Type.Object(
      {
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
        after: Type.Optional(
          Type.String({ maxLength: 200, pattern: '^[\\w.-]+$', description: 'The `next` of the page before' }),
        ),
      },
      { additionalProperties: false },
    ),
    responses: {
      200: { about: 'One page', schema: Type.Object({ keys: Type.Array(ApiKey), next: Type.Optional(Type.String()) }) },
    },
  }),
  createApiKey: defineRoute({
    id: 'createApiKey',
    method: 'POST',
    path: '/control/keys',
    about: 'Makes a key for your tenant; a key can only pass on what it may do itself',
    access: 'control:write',
    body: NewApiKey,
    responses: { 201: { about: 'The key, shown this once', schema: CreatedApiKey } },
  }),
  revokeApiKey: defineRoute({
    id: 'revokeApiKey',
    method: 'DELETE',
    path: '/control/keys/{keyId}',
    about: 'Ends a key of your tenant at once',
    access: 'control:write',
    params: Type.Object({ keyId: KeyId }),
    responses: { 204: { about: 'It is good for nothing now' } },
  }),
};
