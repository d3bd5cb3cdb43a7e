import {
  recordEventReaders,
  schemaChangeReaders,
  type RecordEventObservation,
  type SchemaChangeObservation,
} from '@drover/collection-engine';
import { databaseReaders, type DatabaseObservation } from '@drover/database';
import { eventBusReaders, type EventBusObservation } from '@drover/event-bus';
import { count, type Readers, type TraceContext } from '@drover/service-kit';
import { type OwnershipObservation, ownershipReaders } from '@drover/ownership';
import {
  type EndpointObservation,
  endpointReaders,
  type LocalObservation,
  localReaders,
  type JobObservation,
  jobReaders,
} from '@drover/dispatchers';
import { type ExecutionStoreObservation, executionStoreReaders } from '@drover/execution-store';
import {
  discoveredFunctionsReaders,
  type DiscoveredFunctionsObservation,
} from './functions/discovered-observations.js';
import { functionReaders, type FunctionObservation } from './functions/observations.js';
import { deploymentReaders, type DeploymentObservation } from './applications/observations.js';
import { definitionReaders, type DefinitionObservation } from './collections/observations.js';
import { replicaReaders, type ReplicaObservation } from './replicas/observations.js';
import { webhookReaders, type WebhookObservation } from './webhooks/observations.js';
import { callbackReaders, type CallbackObservation } from './callbacks/observations.js';
import { scheduleReaders, type ScheduleObservation } from './schedules/observations.js';
import { invocationReaders, type InvocationObservation } from './executions/observations.js';

export type ControlPlaneObservation =
  | DatabaseObservation
  | EventBusObservation
  | FunctionObservation
  | DeploymentObservation
  | DefinitionObservation
  | SchemaChangeObservation
  | DiscoveredFunctionsObservation
  | InvocationObservation
  | ExecutionStoreObservation
  | EndpointObservation
  | CallbackObservation
  | WebhookObservation
  | RecordEventObservation
  | ScheduleObservation
  | LocalObservation
  | JobObservation
  | OwnershipObservation
  | ReplicaObservation
  | { readonly kind: 'http.listening'; readonly url: string }
  | {
      readonly kind: 'http.request';
      readonly requestId: string;
      readonly method: string;
      /** The route pattern, never the URL itself: URLs contain ids. */
      readonly route: string;
      readonly status: number;
      readonly durationMs: number;
      readonly endedAt: number;
      readonly keyId: string | undefined;
      readonly trace: TraceContext;
    }
  | {
      readonly kind: 'http.unreadable';
      readonly requestId: string;
      readonly status: number;
      /** The parser's or router's error code. */
      readonly reason: string;
    }
  | { readonly kind: 'http.failed'; readonly requestId: string; readonly route: string; readonly error: unknown }
  | {
      readonly kind: 'access.refused';
      readonly requestId: string;
      readonly reason: string;
      readonly keyId: string | undefined;
    }
  | {
      readonly kind: 'access.key-changed';
      readonly keyId: string;
      readonly tenantId: string;
      readonly change: 'made' | 'revoked' | 'bootstrapped';
    };

export const controlPlaneReaders: Readers<ControlPlaneObservation> = {
  ...databaseReaders,
  ...eventBusReaders,
  ...functionReaders,
  ...deploymentReaders,
  ...definitionReaders,
  ...schemaChangeReaders,
  ...discoveredFunctionsReaders,
  ...invocationReaders,
  ...executionStoreReaders,
  ...endpointReaders,
  ...callbackReaders,
  ...webhookReaders,
  ...recordEventReaders,
  ...scheduleReaders,
  ...localReaders,
  ...jobReaders,
  ...ownershipReaders,
  ...replicaReaders,
  'http.listening': { level: 'info', say: (o) => `listening on ${o.url}` },
  'http.request': {
    level: 'debug',
    say: (o) => `${o.method} ${o.route} ${o.status} in ${o.durationMs.toFixed(1)} ms`,
    span: (o) => ({
      name: `${o.method} ${o.route}`,
      trace: o.trace,
      endedAt: o.endedAt,
      durationMs: o.durationMs,
      attributes: { 'http.request.method': o.method, 'http.route': o.route, 'http.response.status_code': o.status },
      failed: o.status >= 500,
    }),
  },
  'http.unreadable': {
    level: 'debug',
    say: (o) => `request ${o.requestId} was refused with ${o.status} before routing: ${o.reason}`,
    metrics: [
      count('drover_http_unreadable_total', 'Requests refused before routing', {
        labelNames: ['status'],
        labels: (o) => ({ status: o.status }),
      }),
    ],
  },
  'http.failed': { level: 'error', say: (o) => `request ${o.requestId} (${o.route}) failed: ${String(o.error)}` },
  'access.refused': {
    level: 'warn',
    say: (o) => `request ${o.requestId} was refused, its API key is not accepted: ${o.reason}`,
    maxLines: { perSecond: 10, by: (o) => o.reason },
    metrics: [
      count('drover_access_refused_total', 'Requests refused for a missing, invalid or insufficient API key', {
        labelNames: ['reason'],
        labels: (o) => ({ reason: o.reason }),
      }),
    ],
  },
  'access.key-changed': {
    level: 'info',
    say: (o) => `API key ${o.keyId} of tenant ${o.tenantId} was ${o.change === 'made' ? 'created' : o.change}`,
  },
};
