import { fullKey, jobHostKey } from '../applications/application-key.js';
import type { FunctionDefinition, FunctionProblem } from '../applications/function-definition.js';
import type { Application } from '../applications/read-application.js';
import type { InvocationMeter } from '../invocations/invocation-meter.js';
import type { InvocationRouter } from '../invocations/invocation-router.js';
import type { HttpApplication } from '../routes/http-application.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import { versionKey, type ApplicationVersion } from './application-version.js';

/** The functions of an application, as a worker indexed and the runtime checked them. */
export interface FunctionIndex {
  readonly functions: readonly FunctionDefinition[];
  readonly problems: readonly FunctionProblem[];
  /** Code versions with the same metadata version share a job host. */
  readonly metadataVersion: string;
}

/** What an application that can be parked gives to each job host that is opened for it. */
export interface JobHostHooks {
  /** Its routes: they stay while it is parked. */
  readonly http: HttpApplication;
  readonly meter: InvocationMeter;
  /** Called when a call has to wait for a worker. */
  readonly onWaiting: () => void;
  /** Returns why workers end before one is ready; undefined if they do not. */
  readonly failure: () => string | undefined;
  /** Called whenever a worker is added to the router or removed from it. */
  readonly onWorkers: (router: InvocationRouter<FunctionWorker>) => void;
}

/** What is known of a version that was deployed through the catalog, before any worker has its code. */
export interface HostedParts {
  readonly application: Application;
  readonly index: FunctionIndex;
  readonly hooks: JobHostHooks;
}

/** A deployed code version. Its functions are indexed once: when it was deployed, or by the first worker that has the code. */
export class DeployedVersion {
  readonly version: ApplicationVersion;
  readonly key: string;
  /** Undefined for a version of a folder, whose functions a worker indexes. */
  readonly hosted: HostedParts | undefined;
  /** Why its workers end before one is ready; undefined while one is, or before the first attempts. */
  failure: string | undefined;
  /** Names of the functions that its workers have loaded; undefined until one is ready. */
  loaded: ReadonlySet<string> | undefined;
  #indexing: Promise<FunctionIndex> | undefined;
  #index: FunctionIndex | undefined;

  constructor(version: ApplicationVersion, hosted?: HostedParts) {
    this.version = version;
    this.key = versionKey(version);
    this.hosted = hosted;
    this.#index = hosted?.index;
    this.#indexing = hosted && Promise.resolve(hosted.index);
  }

  /** `tenant/application:metadata`; undefined until the functions are indexed. */
  get jobHostKey(): string | undefined {
    return this.#index && jobHostKey({ ...this.version, metadataVersion: this.#index.metadataVersion });
  }

  /** `tenant/application:metadata:code`; undefined until the functions are indexed. */
  get fullKey(): string | undefined {
    return this.#index && fullKey({ ...this.version, metadataVersion: this.#index.metadataVersion });
  }

  /** Resolves with the index. Concurrent calls share one `read`; after a failure the next call reads again. */
  index(worker: FunctionWorker, read: (worker: FunctionWorker) => Promise<FunctionIndex>): Promise<FunctionIndex> {
    this.#indexing ??= read(worker).then(
      (index) => (this.#index = index),
      (error: unknown) => {
        this.#indexing = undefined;
        throw error;
      },
    );
    return this.#indexing;
  }
}
