import { AzuriteService } from '../azurite/azurite-service.js';
import { BlobView, TableView } from '../azurite/storage-views.js';
import { QueueService } from '../queues/queue-service.js';
import type { RunningService, ServiceOptions } from '../running-service.js';

/** Starts storage queues. */
export async function startQueues(options: ServiceOptions): Promise<RunningService> {
  const { host, port, dataDirectory, entities, maxBytes, warn } = options;
  const queues = await QueueService.start({
    host,
    port,
    warn,
    queues: entities.storageQueues,
    ...(maxBytes !== undefined && { maxBytes }),
    ...(dataDirectory !== undefined && { dataDirectory }),
  });
  return {
    port: queues.port,
    consoles: { queues: queues.console },
    declare: ({ storageQueues }) => queues.create(storageQueues),
    stop: () => queues.stop(),
  };
}

export function startBlobs(options: ServiceOptions): Promise<RunningService> {
  return startAzuriteService('blob', options);
}

export function startTables(options: ServiceOptions): Promise<RunningService> {
  return startAzuriteService('table', options);
}

/** Azurite has no entities with messages: containers and tables are made by clients. */
async function startAzuriteService(
  kind: 'blob' | 'table',
  { host, port, dataDirectory, warn }: ServiceOptions,
): Promise<RunningService> {
  const azurite = await AzuriteService.start({
    kind,
    host,
    port,
    warn,
    ...(dataDirectory !== undefined && { dataDirectory }),
  });
  return {
    port: azurite.port,
    consoles: {},
    storage: kind === 'blob' ? new BlobView(azurite) : new TableView(azurite),
    declare: () => Promise.resolve(),
    stop: () => azurite.stop(),
  };
}
