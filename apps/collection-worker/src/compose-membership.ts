import { hostname } from 'node:os';
import { checkStorage, collectionUnknown } from '@drover/collection-engine';
import type { NewCollectionWorker } from '@drover/contracts';
import type { Database } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import { WakeUp, type Clock, type Observe, type Randomness, type Sinks } from '@drover/service-kit';
import type { CollectionWorkerConfig } from './config.js';
import type { CollectionDirectory } from './directory/collection-directory.js';
import { AssignedCollections } from './membership/assigned-collections.js';
import { CollectionPreparer } from './membership/collection-preparer.js';
import { CollectionUse } from './membership/collection-use.js';
import { controlPlaneCalls } from './membership/control-plane-calls.js';
import { LoadMeter } from './membership/load-meter.js';
import { Membership } from './membership/membership.js';
import { membershipMetrics, type CollectionWorkerObservation } from './observations.js';

interface MembershipIo {
  readonly database: Database;
  readonly bus: EventBus;
  readonly directory: CollectionDirectory;
  readonly metrics: Sinks['metrics'];
  /** Why no collection can be served. */
  readonly problem: () => string | undefined;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<CollectionWorkerObservation>;
}

interface ComposedMembership {
  readonly use: CollectionUse;
  /** To be called with the port of the worker. */
  readonly join: (port: { readonly url: string; readonly openConnections: number }) => Membership;
}

/** The part of the worker that takes orders from a control plane; undefined if none is configured. */
export function composeMembership(
  config: CollectionWorkerConfig,
  { database, bus, directory, metrics, problem, ...io }: MembershipIo,
): ComposedMembership | undefined {
  if (config.controlPlaneUrl === undefined && config.controlPlaneUrlFile === undefined) return undefined;
  const assigned = new AssignedCollections();
  const load = new LoadMeter({
    clock: io.clock,
    cpuMicros: () => {
      const { user, system } = process.cpuUsage();
      return user + system;
    },
    memoryBytes: () => process.memoryUsage.rss(),
  });
  const wakeUp = new WakeUp();
  const preparer = new CollectionPreparer({
    prepare: async ({ tenantId, collection, collectionId }) => {
      const model = await directory.find(tenantId, collection);
      if (model.id !== collectionId) throw collectionUnknown({ collection, similar: undefined });
      await checkStorage(database, model);
    },
    assigned,
    onChange: () => wakeUp.notify(),
    ...io,
  });
  metrics.compute(membershipMetrics(() => assigned.countByStatus()));
  const calls = controlPlaneCalls(config);
  const processToken = io.randomness.uuid();
  const workerId = config.workerId ?? config.podName ?? io.randomness.uuid();
  return {
    use: new CollectionUse({ assigned, load, clock: io.clock }),
    join: (port) =>
      new Membership({
        describe: () => ({ ...describeWorker(config, workerId, port.url), processToken }),
        connections: () => port.openConnections,
        calls,
        assigned,
        preparer,
        load,
        problem,
        bus,
        handoverMs: config.handoverMs,
        wakeUp,
        ...io,
      }),
  };
}

/** Returns what a worker says of itself when it registers. */
function describeWorker(config: CollectionWorkerConfig, workerId: string, url: string): NewCollectionWorker {
  const { podName, namespace, tenantAffinity, workerZone: zone } = config;
  return {
    workerId,
    baseUrl: config.workerUrl ?? reachableUrl(config.recordsHost, url),
    pool: config.workerPool,
    capacity: config.workerCapacity,
    ...(podName !== undefined && { podName }),
    ...(namespace !== undefined && { namespace }),
    ...(tenantAffinity !== undefined && { tenantAffinity }),
    ...(zone !== undefined && { zone }),
    ...(config.workerLabels !== undefined && { labels: parseLabels(config.workerLabels) }),
  };
}

/** A worker that listens on every interface is reached by the name of its machine. */
function reachableUrl(host: string, url: string): string {
  return host === '0.0.0.0' || host === '::' ? `http://${hostname()}:${new URL(url).port}` : url;
}

function parseLabels(text: string): Record<string, string> {
  const pairs = text.split(',').map((pair) => pair.split('=', 2).map((part) => part.trim()));
  return Object.fromEntries(pairs.flatMap(([name = '', value = '']) => (name === '' ? [] : [[name, value]])));
}
