import {
  applicationCatalogMigrations,
  CatalogMirror,
  PayloadStore,
  PostgresApplicationCatalog,
  RollbackWatch,
  SettingsSeal,
  type CatalogApplication,
} from '@drover/application-catalog';
import { Database, databaseMigrations, migrate, type Migrations } from '@drover/database';
import { eventBusMigrations, PostgresEventBus, type EventBus } from '@drover/event-bus';
import { hostArguments, type InstanceProvider } from '@drover/instance-provider';
import { readTlsDirectory, ScaleLinkServer } from '@drover/scale-link';
import { createObserve, inOrder, Secret, step, type Composition, type ProcessIo } from '@drover/service-kit';
import { FleetReader } from './collection-workers/fleet-reader.js';
import type { CollectionFleetParts } from './collection-workers/collection-fleet.js';
import { workerDrains } from './collection-workers/worker-drains.js';
import type { ScaleControllerConfig } from './config.js';
import { defaultScalePolicy, policyOf } from './decisions/policy.js';
import { defaultPoolPolicy } from './decisions/pool-size.js';
import type { ScalePolicy } from './decisions/types.js';
import { DesiredStateStore } from './desired-state/desired-state-store.js';
import { scaleControllerMigrations } from './desired-state/scale-controller-migrations.js';
import { DecisionLog } from './explanations/decision-log.js';
import { RuntimeLinks } from './link/runtime-links.js';
import { scaleControllerReaders } from './observations.js';
import { ScaleController } from './scale-controller.js';
import { ScalingReports } from './reports/scaling-reports.js';
import { placementMetrics } from './reports/placement-metrics.js';

/** The tables that the scale controller uses, in the order in which they are made. */
export const scaleControllerSchema: readonly Migrations[] = [
  databaseMigrations,
  eventBusMigrations,
  applicationCatalogMigrations,
  scaleControllerMigrations,
];

export interface ScaleControllerParts {
  readonly provider: InstanceProvider;
  readonly release: string;
}

export interface ScaleControllerComposition extends Composition {
  /** Answers "why do I have 3 workers?". */
  readonly reports: ScalingReports;
}

/** The composition root of the scale controller, as a process of its own or as a part of the platform process. */
export function composeScaleController(
  config: ScaleControllerConfig,
  { sinks, health, clock, randomness }: ProcessIo,
  { provider, release }: ScaleControllerParts,
): ScaleControllerComposition {
  const io = { clock, randomness, observe: createObserve(scaleControllerReaders, sinks) };
  const database = new Database({
    url: config.databaseUrl,
    applicationName: 'drover scale-controller',
    poolSize: config.databasePoolSize,
    limits: {
      statementTimeoutMs: config.databaseStatementTimeoutMs,
      connectTimeoutMs: config.databaseConnectTimeoutMs,
    },
    startWaitMs: config.databaseWaitMs,
    ...io,
  });
  const bus = new PostgresEventBus({ database, ...io });
  const seal = new SettingsSeal(config.secretsKey, randomness);
  const stored = new PostgresApplicationCatalog({ database, bus, seal, maxVersions: Number.MAX_SAFE_INTEGER });
  const catalog = new CatalogMirror(stored, bus);
  // Only read here: the control plane receives payloads.
  const limits = { zipBytes: 0, unpackedBytes: 0, files: 0 };
  const payloads = new PayloadStore({ directory: config.payloadDirectory ?? '.', limits, clock, randomness });
  const policies = scalePolicies(config);
  const policyOfApplication = ({ scaling }: CatalogApplication): ScalePolicy =>
    policyOf({ ...scaling, ...policies.fixed }, policies.defaults);
  const store = new DesiredStateStore(database);
  const log = new DecisionLog();
  const links = new RuntimeLinks(io.observe);
  const maxPlaceholders = Math.max(config.minPlaceholders, config.maxPlaceholders);
  const controller = new ScaleController({
    database,
    leaseMs: config.leaseMs,
    provider,
    store,
    catalog,
    removals: stored,
    rollbacks: new RollbackWatch({ catalog: stored, find: (key) => catalog.get(key), ...io }),
    directoryOf: (tenantId, digest) => payloads.directoryOf(tenantId, digest),
    links,
    policyOf: policyOfApplication,
    limits: { maxWorkers: config.maxWorkers, tenants: config.tenants },
    poolPolicy: { ...defaultPoolPolicy, minPlaceholders: config.minPlaceholders, maxPlaceholders },
    placement: {
      pool: { min: config.minPlaceholders, max: maxPlaceholders },
      maxWorkers: config.maxWorkers,
      runtimes: config.runtimes,
      workerArguments: (facts) => hostArguments({ ...facts, maxMessageBytes: config.maxMessageBytes }),
    },
    collectionWorkers: collectionWorkers(config, database, bus),
    onDecision: (application, decision, policy) => void log.record(application, decision, policy),
    ...io,
  });
  const { linkTlsDir } = config;
  const server = new ScaleLinkServer({
    host: config.linkHost,
    port: config.linkPort,
    token: config.linkToken ?? new Secret(randomness.bytes(32).toString('base64url')),
    tls: linkTlsDir === undefined ? undefined : () => readTlsDirectory(linkTlsDir),
    onAttached: (runtime) => links.accept(runtime),
    refusal: () => links.refusal(),
    onRefused: (address, reason) => io.observe({ kind: 'link.refused', address, reason }),
    clock,
  });
  health.addNotice('scaling', () =>
    controller.isLeader && !controller.term ? 'the leader adopts what runs' : undefined,
  );
  sinks.metrics.compute([placementMetrics(() => controller)]);
  return {
    life: inOrder('scale controller', [
      database,
      step('schema', { up: () => migrate(database, scaleControllerSchema, { release, ...io }) }),
      bus,
      catalog,
      controller,
      // Last: a runtime that finds no leader would have to try again.
      server,
    ]),
    announce: () => ({ scaleLink: server.url }),
    reports: new ScalingReports({ controller, catalog, store, log, policyOf: policyOfApplication }),
  };
}

function scalePolicies(config: ScaleControllerConfig): {
  readonly defaults: ScalePolicy;
  readonly fixed: { readonly minWorkers?: number; readonly maxWorkers?: number };
} {
  const { fixedWorkers, maxWorkersPerApplication, idleMs, predictive } = config;
  return {
    defaults: {
      ...defaultScalePolicy,
      maxWorkers: maxWorkersPerApplication,
      idleMs,
      isPredictive: predictive === 'on',
    },
    fixed: fixedWorkers === 0 ? {} : { minWorkers: fixedWorkers, maxWorkers: fixedWorkers },
  };
}

function collectionWorkers(config: ScaleControllerConfig, database: Database, bus: EventBus): CollectionFleetParts {
  return {
    reader: new FleetReader(database),
    bus,
    policy: {
      maxWorkers: config.maxCollectionWorkers,
      permanentWorkers: config.permanentCollectionWorkers,
      capacity: config.workerCapacity,
      targetCpu: config.collectionTargetCpu * 10, // percent of a core to milliseconds per second
      busyMs: config.collectionBusyMs,
      idleMs: config.collectionIdleMs,
    },
    drainWorker: workerDrains(config),
  };
}
