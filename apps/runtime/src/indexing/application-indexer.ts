import {
  isCodedError,
  type CodedError,
  type IndexedRoute,
  type RuntimeIndexAnswer,
  type RuntimeIndexRequest,
} from '@drover/contracts';
import type { WorkerCommand } from '@drover/instance-provider';
import type { Lifecycle } from '@drover/service-kit';
import type { FunctionProblem } from '../applications/function-definition.js';
import type { Application } from '../applications/read-application.js';
import type { SupportedBindings } from '../bindings/supported-bindings.js';
import { versionKey, type ApplicationVersion } from '../deployments/application-version.js';
import type { FunctionIndex } from '../deployments/deployed-version.js';
import { readIndex } from '../deployments/read-index.js';
import { toStoredIndex } from '../deployments/stored-index.js';
import { applicationBroken, workerCommandMissing, workerLost, workerSilent } from '../errors.js';
import type { AdmittedStream, StreamOwner } from '../rpc/stream-handshake.js';
import { initialize, loadFunctions } from '../specialization/bring-up.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { WorkerSettings } from '../workers/worker-settings.js';
import { indexingBusy } from './errors.js';
import { IndexWorker, type IndexWorkerOptions } from './index-worker.js';

interface ApplicationIndexerOptions extends Omit<IndexWorkerOptions, 'command'> {
  /** Undefined if none is configured. */
  readonly command: WorkerCommand | undefined;
  readonly settings: WorkerSettings;
  readonly supported: SupportedBindings;
  /** Reads the configuration files. Throws RUNTIME_APPLICATION_BROKEN if one has errors. */
  readonly read: (request: RuntimeIndexRequest) => Promise<{
    readonly application: Application;
    /** The complete environment of its workers. */
    readonly environment: Readonly<Record<string, string>>;
    /** Options for the program of its workers that only its files have. */
    readonly programOptions: readonly string[];
    /** About the files, for people. */
    readonly warnings: readonly string[];
  }>;
  /** Finds what only composing the functions shows: a trigger without its connection, a route that cannot be. */
  readonly check: (key: string, application: Application, index: FunctionIndex) => CheckedFunctions;
}

/** What composing the functions of a version shows. */
export interface CheckedFunctions {
  readonly problems: readonly FunctionProblem[];
  readonly warnings: readonly string[];
  /** HTTP routes by function. */
  readonly routes: ReadonlyMap<string, IndexedRoute>;
}

/** Whatever ends a worker that has nothing but this code comes from the code. */
function problemsOf({ code, message, details }: CodedError): readonly string[] {
  const { problems, reason, timeoutMs } = details;
  if (Array.isArray(problems)) return problems.map(String);
  if (code === workerLost.code) return [`The function worker ended while it loaded the code: ${String(reason)}`];
  if (code !== workerSilent.code) return [message];
  return [
    `The code was not loaded within ${String(timeoutMs)} ms. Look for work that does not end, outside of the functions.`,
  ];
}

/** Each needs a core and some hundred megabytes for a moment. */
const concurrently = 2;
/** Further deployments wait, up to this many. */
const maxWaiting = 20;

/**
 * Indexes versions that are about to be deployed: a throw-away worker loads the code, lists its functions and loads each of
 * them. Nothing of the version is served, and the applications that run are not touched.
 */
export class ApplicationIndexer implements Lifecycle {
  readonly name = 'application indexer';
  readonly #options: ApplicationIndexerOptions;
  /** By worker id. */
  readonly #workers = new Map<string, IndexWorker>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(options: ApplicationIndexerOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {}

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.end()));
  }

  /** Takes the stream of one of its workers. Returns undefined for every other worker. */
  connect(admitted: AdmittedStream): StreamOwner | undefined {
    return this.#workers.get(admitted.workerId)?.connect(admitted);
  }

  /** Throws RUNTIME_INDEXING_BUSY if too many deployments wait already. */
  async index(request: RuntimeIndexRequest): Promise<RuntimeIndexAnswer> {
    await this.#enter();
    try {
      return await this.#index(request);
    } catch (error) {
      if (!isCodedError(error) || error.code === workerCommandMissing.code) throw error;
      return { kind: 'refused', problems: problemsOf(error) };
    } finally {
      this.#leave();
    }
  }

  async #index(request: RuntimeIndexRequest): Promise<RuntimeIndexAnswer> {
    const { check } = this.#options;
    const { tenantId, applicationId, codeVersion } = request;
    const { application, environment, programOptions, warnings } = await this.#options.read(request);
    const { directory } = application;
    const version: ApplicationVersion = { tenantId, applicationId, codeVersion, directory, environment };
    const index = await this.#ask(version, application);
    const checked = check(versionKey(version), application, index);
    const problems = [...index.problems, ...checked.problems];
    const stored = toStoredIndex({ ...index, problems }, application, checked.routes);
    const whole = programOptions.length > 0 ? { ...stored, programOptions } : stored;
    return { kind: 'indexed', index: whole, warnings: [...warnings, ...checked.warnings] };
  }

  async #ask(version: ApplicationVersion, application: Application): Promise<FunctionIndex> {
    const { command } = this.#options;
    if (!command) throw workerCommandMissing({ applicationId: version.applicationId });
    const worker = new IndexWorker(version, { ...this.#options, command });
    this.#workers.set(worker.id, worker);
    try {
      return await worker.use((connected) => this.#read(connected, version, application));
    } finally {
      await worker.end();
      this.#workers.delete(worker.id);
    }
  }

  async #read(worker: FunctionWorker, version: ApplicationVersion, application: Application): Promise<FunctionIndex> {
    const { settings, clock, supported } = this.#options;
    const { applicationId } = version;
    await initialize(worker, version, { settings, clock });
    const timeoutMs = settings.loadTimeoutMs;
    const index = await readIndex(worker, { applicationId, application, supported, timeoutMs });
    const refusals = await loadFunctions(worker, index.functions, { settings, clock });
    const unloaded = index.functions.flatMap(({ id, name }) => {
      const problem = refusals.get(id);
      return problem === undefined
        ? []
        : [
            {
              functionName: name,
              file: undefined,
              problem: `it cannot be loaded: ${problem}`,
              isLoadFailure: true as const,
            },
          ];
    });
    if (unloaded.length === index.functions.length)
      throw applicationBroken({
        applicationId,
        problems: unloaded.map(({ functionName, problem }) => `${functionName}: ${problem}`),
      });
    return { ...index, problems: [...index.problems, ...unloaded] };
  }

  #enter(): Promise<void> | undefined {
    if (this.#running < concurrently) {
      this.#running += 1;
      return undefined;
    }
    if (this.#waiting.length >= maxWaiting) throw indexingBusy({ limit: maxWaiting });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Passes the place on to the next deployment that waits. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
  }
}
