import type { Observe } from '@drover/service-kit';
import type { Webhook } from '@drover/trigger-sources';
import type { Application } from '../applications/read-application.js';
import type { Invoker } from '../invocations/invocation-call.js';
import type { JobHostObservation } from '../job-hosts/job-host-observations.js';
import type { JobHost } from '../job-hosts/job-host.js';
import type { HttpApplication } from '../routes/http-application.js';
import type { DeployedVersion, FunctionIndex, JobHostHooks } from './deployed-version.js';

/** An application in one metadata version, with everything that calls its functions. */
export interface ServedApplication {
  readonly host: JobHost;
  readonly invoker: Invoker;
  readonly application: Application;
  readonly http: HttpApplication;
  /** Handlers of its webhook addresses, by the name in the address. */
  readonly webhooks: ReadonlyMap<string, Webhook>;
}

interface ServedApplicationsOptions {
  /** Returns the configuration files of a version that was deployed from a folder. */
  readonly applicationOf: (versionKey: string) => Application;
  /** Creates the job host and the routes of an application. */
  readonly serve: (
    jobHostKey: string,
    application: Application,
    index: FunctionIndex,
    hooks: JobHostHooks | undefined,
  ) => ServedApplication;
  readonly observe: Observe<JobHostObservation>;
}

/** Opens job hosts, and finds by the key of an open one the application that it serves. */
export class ServedApplications {
  readonly #options: ServedApplicationsOptions;
  readonly #byKey = new Map<string, ServedApplication>();

  constructor(options: ServedApplicationsOptions) {
    this.#options = options;
  }

  get byKey(): ReadonlyMap<string, ServedApplication> {
    return this.#byKey;
  }

  /** Creates the job host of a version; the caller starts it. */
  open(key: string, { key: versionKey, hosted }: DeployedVersion, index: FunctionIndex): JobHost {
    const { applicationOf, serve, observe } = this.#options;
    const application = hosted?.application ?? applicationOf(versionKey);
    const served = serve(key, application, index, hosted?.hooks);
    this.#prune();
    this.#byKey.set(key, served);
    observe({ kind: 'job-host.started', jobHost: key });
    return served.host;
  }

  /** Forgets the job host of an application that is parked. */
  close(key: string): void {
    this.#byKey.delete(key);
  }

  #prune(): void {
    for (const [key, { host }] of this.#byKey) if (host.state === 'stopped') this.#byKey.delete(key);
  }
}
