import type { Observe } from '@drover/service-kit';
import type { Application } from '../applications/read-application.js';
import type { SupportedBindings } from '../bindings/supported-bindings.js';
import type { Invoker } from '../invocations/invocation-call.js';
import type { JobHostObservation } from '../job-hosts/job-host-observations.js';
import type { JobHost } from '../job-hosts/job-host.js';
import type { HttpApplication, HttpApplications, RequestLine } from '../routes/http-application.js';
import { resolveApplication } from '../routes/resolve-application.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { ApplicationDeployments } from './application-deployments.js';
import type { ApplicationFolders } from './application-folders.js';
import type { ApplicationObservation } from './application-observations.js';
import type { DeployedVersion, FunctionIndex } from './deployed-version.js';
import { readIndex } from './read-index.js';

/** An application in one metadata version, with everything that calls its functions. */
export interface ServedApplication {
  readonly host: JobHost;
  readonly invoker: Invoker;
  readonly application: Application;
  readonly http: HttpApplication;
}

interface DeployedApplicationsOptions {
  readonly tenantId: string;
  readonly folders: ApplicationFolders;
  readonly deployments: ApplicationDeployments;
  readonly supported: SupportedBindings;
  readonly indexTimeoutMs: number;
  /** Creates the job host and the routes of an application. */
  readonly serve: (jobHostKey: string, application: Application, index: FunctionIndex) => ServedApplication;
  readonly observe: Observe<ApplicationObservation | JobHostObservation>;
}

/**
 * Owns what is deployed: the folders that applications are read from, their versions, the job host of each metadata version
 * and the routes it serves. Workers are specialized with it, and the HTTP server resolves requests with it.
 */
export class DeployedApplications implements HttpApplications {
  readonly #options: DeployedApplicationsOptions;
  /** By job host key. */
  readonly #served = new Map<string, ServedApplication>();

  constructor(options: DeployedApplicationsOptions) {
    this.#options = options;
  }

  /** Ids of the applications, served or not. */
  get names(): readonly string[] {
    return this.#options.folders.names;
  }

  get served(): ReadonlyMap<string, ServedApplication> {
    return this.#served;
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

  async readIndex(worker: FunctionWorker, { key, version }: DeployedVersion): Promise<FunctionIndex> {
    const { folders, supported, indexTimeoutMs, observe } = this.#options;
    const index = await readIndex(worker, {
      applicationId: version.applicationId,
      application: folders.applicationOf(key),
      supported,
      timeoutMs: indexTimeoutMs,
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

  openJobHost(key: string, deployed: DeployedVersion, index: FunctionIndex): JobHost {
    const { folders, serve, observe } = this.#options;
    const application = serve(key, folders.applicationOf(deployed.key), index);
    for (const [old, { host }] of this.#served) if (host.state === 'stopped') this.#served.delete(old);
    this.#served.set(key, application);
    observe({ kind: 'job-host.started', jobHost: key });
    return application.host;
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

  all(): readonly HttpApplication[] {
    const { folders, deployments, tenantId } = this.#options;
    return folders.names.flatMap((name) => {
      const host = deployments.serving(tenantId, name);
      const application = host && this.#served.get(host.key);
      return application ? [application.http] : [];
    });
  }
}
