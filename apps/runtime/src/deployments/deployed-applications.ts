import type { Observe } from '@drover/service-kit';
import type { SupportedBindings } from '../bindings/supported-bindings.js';
import { functionsLost } from '../errors.js';
import type { JobHostManager } from '../job-hosts/job-host-manager.js';
import type { JobHost } from '../job-hosts/job-host.js';
import type { HttpApplication, HttpApplications, RequestLine } from '../routes/http-application.js';
import { resolveApplication } from '../routes/resolve-application.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { ApplicationDeployments } from './application-deployments.js';
import type { ApplicationFolders } from './application-folders.js';
import type { ApplicationObservation } from './application-observations.js';
import type { DeployedVersion, FunctionIndex } from './deployed-version.js';
import type { JobHostRecovery } from './job-host-recovery.js';
import { readIndex } from './read-index.js';
import type { ServedApplications } from './served-applications.js';

interface DeployedApplicationsOptions {
  readonly tenantId: string;
  readonly folders: ApplicationFolders;
  readonly deployments: ApplicationDeployments;
  readonly supported: SupportedBindings;
  readonly indexTimeoutMs: number;
  readonly served: ServedApplications;
  readonly jobHosts: JobHostManager;
  readonly recovery: JobHostRecovery;
  readonly observe: Observe<ApplicationObservation>;
}

/**
 * Owns what is deployed from folders: the applications, their versions, the job host of each metadata version and the routes it
 * serves. Workers are specialized with it, and the HTTP server resolves requests with it.
 */
export class DeployedApplications implements HttpApplications {
  readonly #options: DeployedApplicationsOptions;

  constructor(options: DeployedApplicationsOptions) {
    this.#options = options;
  }

  /** Ids of the applications, served or not. */
  get names(): readonly string[] {
    return this.#options.folders.names;
  }

  find(versionKey: string): DeployedVersion | undefined {
    return this.#options.deployments.find(versionKey);
  }

  recordReady(versionKey: string, host: JobHost): void {
    this.#options.deployments.recordReady(versionKey, host);
  }

  recordBroken(versionKey: string, error: unknown): void {
    this.#options.deployments.recordBroken(versionKey, error);
  }

  lostBy(deployed: DeployedVersion, functions: ReadonlySet<string>): readonly string[] {
    return this.#options.deployments.lostBy(deployed, functions);
  }

  /** Throws RUNTIME_APPLICATION_BROKEN if functions that are served would be lost, because a file does not load. */
  async readIndex(worker: FunctionWorker, deployed: DeployedVersion): Promise<FunctionIndex> {
    const { folders, supported, indexTimeoutMs, observe } = this.#options;
    const { key, version } = deployed;
    const index = await readIndex(worker, {
      applicationId: version.applicationId,
      application: folders.applicationOf(key),
      supported,
      timeoutMs: indexTimeoutMs,
    });
    const failures = index.problems.filter(({ isLoadFailure }) => isLoadFailure);
    const lost = failures.length > 0 ? this.lostBy(deployed, new Set(index.functions.map(({ name }) => name))) : [];
    if (lost.length > 0)
      throw functionsLost({
        applicationId: version.applicationId,
        problems: failures.map(({ problem }) => problem),
        functions: lost,
      });
    observe({ kind: 'application.indexed', application: key, functions: index.functions.map(({ name }) => name) });
    for (const { functionName, file, problem } of index.problems)
      observe({
        kind: 'application.problem',
        application: key,
        problem: `${functionName}${file ? ` (${file})` : ''}: ${problem}`,
      });
    return index;
  }

  openJobHost(deployed: DeployedVersion, index: FunctionIndex): Promise<JobHost> {
    const { jobHosts, recovery } = this.#options;
    const key = deployed.jobHostKey ?? '';
    return jobHosts.getOrCreate(key, () => recovery.open(key, deployed, index));
  }

  /** Returns why no call of an application is served now; undefined if one is. */
  problemOf(name: string): string | undefined {
    const { folders, deployments, tenantId } = this.#options;
    const host = deployments.serving(tenantId, name);
    if (host && host.router.size > 0) return undefined;
    const problem = folders.problemOf(name) ?? deployments.failureOf(`${tenantId}/${name}`);
    return problem ?? (host ? 'no function worker is ready' : 'its first function worker is not ready yet');
  }

  /** The applications of which no call is served now, each with the reason. */
  problems(): readonly { readonly application: string; readonly problem: string }[] {
    return this.#options.folders.names.flatMap((application) => {
      const problem = this.problemOf(application);
      return problem === undefined ? [] : [{ application, problem }];
    });
  }

  resolve(request: RequestLine): HttpApplication | undefined {
    return resolveApplication(this.all(), request);
  }

  named(name: string): HttpApplication | undefined {
    return this.all().find((application) => application.name === name);
  }

  all(): readonly HttpApplication[] {
    const { folders, deployments, served, tenantId } = this.#options;
    return folders.names.flatMap((name) => {
      const host = deployments.serving(tenantId, name);
      const application = host && served.byKey.get(host.key);
      return application ? [application.http] : [];
    });
  }
}
