import { fullKey, jobHostKey } from '../applications/application-key.js';
import type { FunctionDefinition, FunctionProblem } from '../applications/function-definition.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import { versionKey, type ApplicationVersion } from './application-version.js';

/** What came out of looking at the functions of an application. */
export interface FunctionIndex {
  readonly functions: readonly FunctionDefinition[];
  readonly problems: readonly FunctionProblem[];
  /** The same for all code versions that can share a job host. */
  readonly metadataVersion: string;
}

/** A code version that is deployed here. Its functions are asked for once, from the first worker that has it. */
export class DeployedVersion {
  readonly version: ApplicationVersion;
  readonly key: string;
  #index: Promise<FunctionIndex> | undefined;
  #known: FunctionIndex | undefined;

  constructor(version: ApplicationVersion) {
    this.version = version;
    this.key = versionKey(version);
  }

  /** Its functions, once they are known. */
  get functions(): FunctionIndex | undefined {
    return this.#known;
  }

  /** `tenant/application:metadata`, once the metadata is known. */
  get jobHostKey(): string | undefined {
    return this.#known && jobHostKey({ ...this.version, metadataVersion: this.#known.metadataVersion });
  }

  /** `tenant/application:metadata:code`, once the metadata is known: what a worker of it runs. */
  get fullKey(): string | undefined {
    return this.#known && fullKey({ ...this.version, metadataVersion: this.#known.metadataVersion });
  }

  /** Whoever comes second waits for the first; when that fails, the next one may try. */
  index(worker: FunctionWorker, read: (worker: FunctionWorker) => Promise<FunctionIndex>): Promise<FunctionIndex> {
    this.#index ??= read(worker).then(
      (index) => (this.#known = index),
      (error: unknown) => {
        this.#index = undefined;
        throw error;
      },
    );
    return this.#index;
  }
}
