import {
  applicationCatalogErrors,
  type ApplicationAddress,
  type ApplicationCatalog,
  type CatalogApplication,
} from '@drover/application-catalog';
import { accessDenied, type Caller } from '@drover/collection-engine';
import { applicationRoutes, type NewApplicationVersion, type ScaleSettings, type Scope } from '@drover/contracts';
import type { Observe } from '@drover/service-kit';
import { requestInvalid } from '../errors.js';
import { handle, reply, type RouteHandler } from '../http/route-handler.js';
import { toApplicationView, toChangeView, toVersionView } from './application-view.js';
import type { Deployer, DeploymentRequest } from '../applications/deployer.js';
import type { DeploymentObservation } from '../applications/observations.js';
import type { PayloadUploads } from '../applications/payload-uploads.js';

export interface ApplicationHandlersOptions {
  readonly catalog: ApplicationCatalog;
  readonly deployer: Pick<Deployer, 'deploy'>;
  readonly uploads: Pick<PayloadUploads, 'receive'>;
  readonly observe: Observe<DeploymentObservation>;
}

const { applicationUnknown } = applicationCatalogErrors;
const folderScope: Scope = 'functions:commands';

export function applicationHandlers(options: ApplicationHandlersOptions): RouteHandler[] {
  return [...readingHandlers(options), ...deployingHandlers(options), ...trafficHandlers(options)];
}

function readingHandlers({ catalog }: ApplicationHandlersOptions): RouteHandler[] {
  return [
    handle(applicationRoutes.listApplications, async ({ caller }) =>
      reply(200, { applications: (await catalog.list(caller.tenantId)).map(toApplicationView) }),
    ),
    handle(applicationRoutes.getApplication, async ({ caller, params }) => {
      const address = addressOf(caller, params.app);
      const application = await catalog.find(address);
      if (!application) throw applicationUnknown(address);
      const changes = await catalog.changes(address);
      return reply(200, { application: toApplicationView(application), changes: changes.map(toChangeView) });
    }),
  ];
}

function deployingHandlers({ catalog, deployer, uploads, observe }: ApplicationHandlersOptions): RouteHandler[] {
  return [
    handle(applicationRoutes.uploadPayload, async ({ caller, upload }) => {
      const { digest, bytes, files } = await uploads.receive(caller.tenantId, upload);
      return reply(201, { payload: digest, bytes, files });
    }),
    handle(applicationRoutes.deployApplication, async ({ caller, params, body }) => {
      const { version, application } = await deployer.deploy({
        ...addressOf(caller, params.app),
        from: sourceOf(body, caller),
        settings: body.settings,
        trafficPercent: body.trafficPercent ?? 100,
        scaling: body.scaling && checkScaling(body.scaling),
        rollback: body.rollback,
        isLenient: false,
        keepsFunctions: true,
        reason: `deployed with API key ${caller.keyId}`,
      });
      return reply(201, { version: toVersionView(application, version), application: toApplicationView(application) });
    }),
    handle(applicationRoutes.deleteApplicationVersion, async ({ caller, params }) =>
      reply(200, toApplicationView(await catalog.removeVersion(addressOf(caller, params.app), params.version))),
    ),
    handle(applicationRoutes.deleteApplication, async ({ caller, params }) => {
      const address = addressOf(caller, params.app);
      const application = await catalog.beginRemoval(address);
      observe({ kind: 'application.deleting', ...address });
      return reply(202, toApplicationView(application));
    }),
    handle(applicationRoutes.setScaling, async ({ caller, params, body }) => {
      const scaling = checkScaling(body);
      return reply(200, toApplicationView(await catalog.configure(addressOf(caller, params.app), { scaling })));
    }),
    handle(applicationRoutes.setRollbackPolicy, async ({ caller, params, body }) =>
      reply(200, toApplicationView(await catalog.configure(addressOf(caller, params.app), { rollback: body }))),
    ),
  ];
}

function trafficHandlers({ catalog, observe }: ApplicationHandlersOptions): RouteHandler[] {
  const report = (application: CatalogApplication, change: 'traffic' | 'promoted' | 'rolled back') => {
    const { tenantId, applicationId, traffic } = application;
    observe({ kind: 'application.traffic-changed', tenantId, applicationId, change, traffic });
    return reply(200, toApplicationView(application));
  };
  return [
    handle(applicationRoutes.setTraffic, async ({ caller, params, body }) => {
      const reason = `set with API key ${caller.keyId}`;
      return report(await catalog.setTraffic(addressOf(caller, params.app), body.traffic, reason), 'traffic');
    }),
    handle(applicationRoutes.promoteVersion, async ({ caller, params }) => {
      const traffic = { [params.version]: 100 };
      const reason = `promoted with API key ${caller.keyId}`;
      return report(await catalog.setTraffic(addressOf(caller, params.app), traffic, reason), 'promoted');
    }),
    handle(applicationRoutes.rollBackApplication, async ({ caller, params, body }) => {
      const address = addressOf(caller, params.app);
      const reason = body.reason ?? `rolled back with API key ${caller.keyId}`;
      const application = await catalog.rollBack(address, { toVersion: body.version, reason, isAutomatic: false });
      if (!application) throw applicationUnknown(address);
      return report(application, 'rolled back');
    }),
  ];
}

function addressOf({ tenantId }: Caller, applicationId: string): ApplicationAddress {
  return { tenantId, applicationId };
}

/** A folder is code on the operator's machine, so the right to name one is granted by itself. */
function sourceOf({ payload, directory }: NewApplicationVersion, { scopes }: Caller): DeploymentRequest['from'] {
  if ((payload === undefined) === (directory === undefined))
    throw requestInvalid({ problem: 'body must have exactly one of "payload" and "directory"' });
  if (payload !== undefined) return { payload };
  if (!scopes.includes(folderScope)) throw accessDenied({ scope: folderScope });
  return { directory: directory ?? '', isWatched: false };
}

function checkScaling(scaling: ScaleSettings): ScaleSettings {
  const { minWorkers = 0, maxWorkers } = scaling;
  if (maxWorkers !== undefined && minWorkers > maxWorkers)
    throw requestInvalid({
      problem: `minWorkers is ${minWorkers}, more than maxWorkers, which is ${maxWorkers}. Lower one or raise the other.`,
    });
  return scaling;
}
