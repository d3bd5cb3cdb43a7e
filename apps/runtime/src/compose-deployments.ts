import path from 'node:path';
import { defaultTenantId } from '@drover/contracts';
import { withoutPlatformVariables } from '@drover/instance-provider';
import type { Environment } from '@drover/service-kit';
import type { RuntimeIo, WorkerSide } from './compose-workers.js';
import type { RuntimeConfig } from './config.js';
import { ApplicationFolders } from './deployments/application-folders.js';
import { DeployedApplications } from './deployments/deployed-applications.js';
import type { JobHostRecovery } from './deployments/job-host-recovery.js';
import type { ServedApplications } from './deployments/served-applications.js';
import { supportedBindings } from './triggers/binding-extensions.js';

export function composeFolders(
  config: RuntimeConfig,
  io: RuntimeIo,
  { deployments, jobHosts }: WorkerSide,
  environment: Environment,
): ApplicationFolders {
  return new ApplicationFolders({
    directories: config.applications.split(path.delimiter).filter((directory) => directory !== ''),
    tenantId: defaultTenantId,
    environment: withoutPlatformVariables(environment),
    defaults: defaultSettings(config),
    deployments,
    jobHosts,
    hasDevelopmentStorage: config.emulators === 'on',
    isHotReload: config.hotReload === 'on',
    startWithinMs: config.startTimeoutMs,
    ...io,
  });
}

/** Settings of applications that do not set them. */
export function defaultSettings({ functionsEnvironment }: RuntimeConfig): Readonly<Record<string, string>> {
  return functionsEnvironment === undefined ? {} : { AZURE_FUNCTIONS_ENVIRONMENT: functionsEnvironment };
}

export function composeDeployed(
  config: RuntimeConfig,
  { observe }: Pick<RuntimeIo, 'observe'>,
  { deployments, jobHosts }: WorkerSide,
  parts: {
    readonly folders: ApplicationFolders;
    readonly served: ServedApplications;
    readonly recovery: JobHostRecovery;
  },
): DeployedApplications {
  return new DeployedApplications({
    tenantId: defaultTenantId,
    deployments,
    supported: supportedBindings,
    indexTimeoutMs: config.startTimeoutMs,
    jobHosts,
    observe,
    ...parts,
  });
}
