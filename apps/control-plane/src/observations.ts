import {
  recordEventReaders,
  schemaChangeReaders,
  type RecordEventObservation,
  type SchemaChangeObservation,
} from '@drover/collection-engine';
import { databaseReaders, type DatabaseObservation } from '@drover/database';
import { eventBusReaders, type EventBusObservation } from '@drover/event-bus';
import { apiReaders, type ApiObservation } from '@drover/http-edge';
import type { Readers } from '@drover/service-kit';
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
import { assignmentReaders, type AssignmentObservation } from './assignments/observations.js';
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
  | AssignmentObservation
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
  | ApiObservation
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
  ...assignmentReaders,
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
  ...apiReaders,
  'access.key-changed': {
    level: 'info',
    say: (o) => `API key ${o.keyId} of tenant ${o.tenantId} was ${o.change === 'made' ? 'created' : o.change}`,
  },
};
