import Type, { type Static } from 'typebox';
import { ApiKey, CreatedApiKey, NewApiKey, Scope } from '../api-key.js';
import { RouteClash } from '../collection-view.js';
import { literalUnion } from '../literal-union.js';
import { defineRoute } from './route.js';

export const ProcessHealth = Type.Object({
  status: Type.String({
    description:
      'State of the process: starting, ready, unready (it runs, and `problems` says what it waits for), draining or stopped',
  }),
  problems: Type.Record(Type.String(), Type.String(), {
    description: 'What is wrong, by component. Some problems leave the process ready',
  }),
});

/** Health as Spring Boot's actuator reports it, which nanoFaaS serves and its probes expect. */
const ActuatorHealth = Type.Object({
  status: literalUnion(['UP', 'DOWN', 'OUT_OF_SERVICE']),
  components: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Object({ status: Type.String(), details: Type.Record(Type.String(), Type.String()) }),
      {
        description: 'The components with a problem',
      },
    ),
  ),
  groups: Type.Optional(Type.Array(Type.String())),
});
const prometheusText = { about: 'Prometheus text', schema: Type.String(), contentType: 'text/plain' };

export const StatusDocument = Type.Object({
  version: Type.String(),
  startedAt: Type.String({ format: 'date-time' }),
  database: Type.Object({
    version: Type.String({ description: 'Version of PostgreSQL' }),
    schema: Type.Record(Type.String(), Type.Integer(), { description: 'Newest applied migration by component' }),
  }),
  events: Type.Object({ lastPosition: Type.Integer({ description: 'Position of the newest event on the bus' }) }),
});
export type StatusDocument = Static<typeof StatusDocument>;

/** Long enough for any id, too short for a whole key with its secret. */
const KeyId = Type.String({ maxLength: 32, pattern: '^[A-Za-z0-9]+$' });

const Caller = Type.Object({ keyId: Type.String(), tenantId: Type.String(), scopes: Type.Array(Scope) });

/** Health, metrics and keys: the routes of the control plane besides functions. */
export const controlRoutes = {
  getHealth: defineRoute({
    id: 'getHealth',
    method: 'GET',
    path: '/healthz',
    about: 'Liveness of the process',
    access: 'public',
    responses: { 200: { about: 'The process is alive', schema: ProcessHealth } },
  }),
  getReadiness: defineRoute({
    id: 'getReadiness',
    method: 'GET',
    path: '/readyz',
    about: 'Readiness of the process',
    access: 'public',
    responses: {
      200: { about: 'The process accepts work', schema: ProcessHealth },
      503: { about: 'The process does not accept work; `problems` names the reasons', schema: ProcessHealth },
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
    about: 'Metrics of this process in Prometheus format',
    access: 'control:read',
    responses: { 200: prometheusText },
  }),
  getOpenApiYaml: defineRoute({
    id: 'getOpenApiYaml',
    method: 'GET',
    path: '/openapi.yaml',
    about: 'The same document as `/openapi.json`, as YAML',
    access: 'public',
    responses: { 200: { about: 'OpenAPI 3.1', schema: Type.String(), contentType: 'application/yaml' } },
  }),
  getActuatorHealth: defineRoute({
    id: 'getActuatorHealth',
    method: 'GET',
    path: '/actuator/health',
    about: "Readiness under nanoFaaS's name",
    access: 'public',
    responses: {
      200: { about: 'The process accepts work', schema: ActuatorHealth },
      503: { about: 'The process does not accept work', schema: ActuatorHealth },
    },
  }),
  getActuatorLiveness: defineRoute({
    id: 'getActuatorLiveness',
    method: 'GET',
    path: '/actuator/health/liveness',
    about: "Liveness under nanoFaaS's name",
    access: 'public',
    responses: { 200: { about: 'The process is alive', schema: ActuatorHealth } },
  }),
  getActuatorReadiness: defineRoute({
    id: 'getActuatorReadiness',
    method: 'GET',
    path: '/actuator/health/readiness',
    about: "Readiness under nanoFaaS's name",
    access: 'public',
    responses: {
      200: { about: 'The process accepts work', schema: ActuatorHealth },
      503: { about: 'The process does not accept work', schema: ActuatorHealth },
    },
  }),
  getActuatorPrometheus: defineRoute({
    id: 'getActuatorPrometheus',
    method: 'GET',
    path: '/actuator/prometheus',
    about: "The metrics of `/metrics` under nanoFaaS's name",
    access: 'control:read',
    responses: { 200: prometheusText },
  }),
  getStatus: defineRoute({
    id: 'getStatus',
    method: 'GET',
    path: '/control/status',
    about: 'Versions of the platform',
    access: 'control:read',
    responses: { 200: { about: 'Versions, and the position of the event bus', schema: StatusDocument } },
  }),
  listRouteClashes: defineRoute({
    id: 'listRouteClashes',
    method: 'GET',
    path: '/control/route-clashes',
    about:
      'Lists the paths that both a collection and a function of your tenant have; the collection gets the requests. New ones are refused',
    access: 'control:read',
    responses: {
      200: { about: 'Ordered by application and function', schema: Type.Object({ clashes: Type.Array(RouteClash) }) },
    },
  }),
  getCaller: defineRoute({
    id: 'getCaller',
    method: 'GET',
    path: '/control/whoami',
    about: 'Identity of the caller',
    access: 'control:read',
    responses: { 200: { about: 'The API key of this request', schema: Caller } },
  }),
  listApiKeys: defineRoute({
    id: 'listApiKeys',
    method: 'GET',
    path: '/control/keys',
    about: 'Lists the API keys of your tenant, oldest first',
    access: 'control:read',
    query: Type.Object(
      {
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
        after: Type.Optional(
          Type.String({ maxLength: 200, pattern: '^[\\w.-]+$', description: '`next` of the previous page' }),
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
    about: 'Creates an API key for your tenant, with at most the scopes of the calling key',
    access: 'control:write',
    body: NewApiKey,
    responses: { 201: { about: 'The new key; its secret is shown only once', schema: CreatedApiKey } },
  }),
  revokeApiKey: defineRoute({
    id: 'revokeApiKey',
    method: 'DELETE',
    path: '/control/keys/{keyId}',
    about: 'Revokes an API key of your tenant at once',
    access: 'control:write',
    params: Type.Object({ keyId: KeyId }),
    responses: { 204: { about: 'The key is revoked' } },
  }),
};
