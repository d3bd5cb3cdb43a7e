import { fullKey, jobHostKey } from '../applications/application-key.js';
import type { FunctionDefinition, FunctionProblem } from '../applications/function-definition.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import { versionKey, type ApplicationVersion } from './application-version.js';

/** The functions of an application, as a worker indexed and the runtime checked them. */
export interface FunctionIndex {
  readonly functions: readonly FunctionDefinition[];
  readonly problems: readonly FunctionProblem[];
  /** Code versions with the same metadata version share a job host. */
  readonly metadataVersion: string;
}

/** A deployed code version. Its functions are indexed once, by the first worker that has the code. */
export class DeployedVersion {
  readonly version: ApplicationVersion;
  readonly key: string;
  /** Why its workers end before one is ready; undefined while one is, or before the first attempts. */
  failure: string | undefined;
  #indexing: Promise<FunctionIndex> | undefined;
  #index: FunctionIndex | undefined;

  constructor(version: ApplicationVersion) {
    this.version = version;
    this.key = versionKey(version);
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
