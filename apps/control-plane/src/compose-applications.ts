import path from 'node:path';
import {
  PayloadStore,
  PostgresApplicationCatalog,
  SettingsSeal,
  type ApplicationCatalog,
} from '@drover/application-catalog';
import { defaultTenantId } from '@drover/contracts';
import type { Database } from '@drover/database';
import type { RuntimeConnection } from '@drover/dispatchers';
import type { EventBus } from '@drover/event-bus';
import { inOrder, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import { applicationHandlers } from './api/application-handlers.js';
import { applicationSubject } from './api/application-subject.js';
import { Deployer } from './applications/deployer.js';
import { FolderDeployments } from './applications/folder-deployments.js';
import { FunctionIndexer } from './applications/function-indexer.js';
import { PayloadUploads } from './applications/payload-uploads.js';
import type { SubjectOf } from './changes/applied-changes.js';
import type { ControlPlaneConfig } from './config.js';
import type { RouteHandler } from './http/route-handler.js';
import type { ControlPlaneObservation } from './observations.js';
import type { RouteGuard } from './route-clashes/route-guard.js';

export interface DeploymentParts {
  readonly database: Database;
  readonly bus: EventBus;
  readonly connection: RuntimeConnection;
  readonly routeGuard: Pick<RouteGuard, 'admitFunctions' | 'sharedRoutes'>;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ControlPlaneObservation>;
}

/** Deployed applications. */
export interface ComposedApplications {
  readonly catalog: ApplicationCatalog;
  readonly folders: FolderDeployments;
  readonly handlers: readonly RouteHandler[];
  /** What a request of `handlers` has changed. */
  readonly subjectOf: SubjectOf;
  readonly life: Lifecycle;
}

export function composeApplications(
  config: ControlPlaneConfig,
  { database, bus, connection, routeGuard, ...io }: DeploymentParts,
): ComposedApplications {
  const seal = new SettingsSeal(config.secretsKey, io.randomness);
  const { admitFunctions } = routeGuard;
  const maxVersions = config.applicationVersions;
  const catalog = new PostgresApplicationCatalog({ database, bus, seal, maxVersions, admitFunctions });
  const limits = {
    zipBytes: config.payloadBytes,
    unpackedBytes: config.payloadUnpackedBytes,
    files: config.payloadFiles,
  };
  const payloads =
    config.payloadDirectory === undefined
      ? undefined
      : new PayloadStore({ directory: config.payloadDirectory, limits, ...io });
  const uploads = new PayloadUploads({ catalog, payloads, ...io });
  const deployer = new Deployer({
    catalog,
    payloads,
    seal,
    indexer: new FunctionIndexer({ connection, clock: io.clock }),
    folderLimits: { files: limits.files, bytes: limits.unpackedBytes },
    sharedRoutes: (address, functions) => routeGuard.sharedRoutes(address, functions),
    observe: io.observe,
  });
  const folders = new FolderDeployments({
    directories: config.applications.split(path.delimiter).filter(Boolean),
    tenantId: defaultTenantId,
    isHotReload: config.hotReload === 'on',
    onlyFunctions: config.functionsOnly.split(/[\s,]+/).filter(Boolean),
    catalog,
    deployer,
    ...io,
  });
  const handlers = applicationHandlers({ catalog, deployer, uploads, observe: io.observe });
  const subjectOf = applicationSubject(catalog);
  return { catalog, folders, handlers, subjectOf, life: inOrder('applications', [uploads, folders]) };
}
