import { FailedChanges, RecordEventPublisher, RecordEventRetention, RecordEventTail } from '@drover/collection-engine';
import type { Database } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import { inOrder, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import { failedChangeHandlers } from './api/failed-change-handlers.js';
import { webhookHandlers } from './api/webhook-handlers.js';
import type { CollectionDefinitions } from './collections/collection-definitions.js';
import type { ComposedFunctions } from './compose-functions.js';
import type { ControlPlaneConfig } from './config.js';
import type { RouteHandler } from './http/route-handler.js';
import type { ControlPlaneObservation } from './observations.js';
import { WebhookQueue } from './webhooks/webhook-queue.js';
import { WebhookSender } from './webhooks/webhook-sender.js';
import { WebhookStore } from './webhooks/webhook-store.js';

interface RecordEventParts {
  readonly database: Database;
  readonly bus: EventBus;
  readonly functions: Pick<ComposedFunctions, 'guard' | 'cipher'>;
  readonly definitions: CollectionDefinitions;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ControlPlaneObservation>;
}

/** Consumers of record events in the control plane: webhooks, the bus and retention. */
export function composeRecordEvents(
  config: Pick<ControlPlaneConfig, 'recordEventRetentionMs' | 'recordEventsOnBus'>,
  { database, bus, functions: { guard, cipher }, definitions, ...io }: RecordEventParts,
): { readonly life: Lifecycle; readonly handlers: readonly RouteHandler[] } {
  const tail = new RecordEventTail({ database, ...io });
  const retention = new RecordEventRetention({ database, retentionMs: config.recordEventRetentionMs, ...io });
  const store = new WebhookStore({ database, cipher, ...io });
  const sender = new WebhookSender({ queue: new WebhookQueue(database), tail, guard, cipher, ...io });
  const publisher = config.recordEventsOnBus === 'on' ? [new RecordEventPublisher({ database, bus, tail, ...io })] : [];
  return {
    life: inOrder('record events', [tail, retention, ...publisher, sender]),
    handlers: [
      ...webhookHandlers({ store, sender, definitions, tail, guard }),
      ...failedChangeHandlers(new FailedChanges(database)),
    ],
  };
}
