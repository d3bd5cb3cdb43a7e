import { hostArguments, WorkerProcess, type WorkerCommand } from '@drover/instance-provider';
import { sleep, type Clock, type Leash, type Randomness } from '@drover/service-kit';
import type { ApplicationVersion } from '../deployments/application-version.js';
import { workerLost } from '../errors.js';
import { functionWorkerEnvironment } from '../processes/worker-command.js';
import type { Admission } from '../rpc/admission.js';
import type { AdmittedStream, StreamOwner } from '../rpc/stream-handshake.js';
import { FunctionWorker } from '../workers/function-worker.js';

export interface IndexWorkerOptions {
  readonly command: WorkerCommand;
  readonly leash: Leash;
  readonly admission: Admission;
  /** The address that workers connect to. */
  readonly address: () => { readonly host: string; readonly port: number };
  readonly maxMessageBytes: number;
  /** Time limit for the connection. */
  readonly connectWithinMs: number;
  readonly clock: Clock;
  readonly randomness: Randomness;
}

/** After the loss of a stream: how long the process may take to print its reason and end. */
const lostGraceMs = 1_000;

/**
 * A function worker that is used once and thrown away, in a process of its own. It is in no registry: no invocation, no
 * scale controller and no health check sees it.
 */
export class IndexWorker {
  readonly id: string;
  readonly #options: IndexWorkerOptions;
  readonly #process: WorkerProcess;
  readonly #connected: Promise<FunctionWorker>;
  readonly #release: () => void;
  #worker: FunctionWorker | undefined;
  #resolve: (worker: FunctionWorker) => void = () => undefined;
  /** How the process ended; undefined while it runs. */
  #end: string | undefined;

  constructor(version: ApplicationVersion, options: IndexWorkerOptions) {
    const { command, leash, admission, address, maxMessageBytes, clock, randomness } = options;
    this.#options = options;
    this.id = randomness.uuid();
    const requestId = randomness.uuid();
    const traits = { isIsolated: false, isDebugged: false, isManaged: false };
    admission.expect({ workerId: this.id, requestId, applicationKey: undefined, traits });
    this.#connected = new Promise((resolve) => (this.#resolve = resolve));
    this.#process = new WorkerProcess({
      command,
      args: hostArguments({ ...address(), workerId: this.id, requestId, maxMessageBytes }),
      directory: version.directory,
      environment: functionWorkerEnvironment(version, command),
      clock,
      onLine: () => undefined, // the reason of a failure is in the end of the process
      onEnd: ({ text }) => (this.#end = text),
    });
    const { pid } = this.#process;
    this.#release = pid === undefined ? () => undefined : leash.hold(pid, { signal: 'SIGKILL', graceMs: 0 });
  }

  /** Takes the stream of this worker. */
  connect({ stream }: AdmittedStream): StreamOwner {
    const { clock, randomness } = this.#options;
    const worker = new FunctionWorker({
      id: this.id,
      stream,
      clock,
      randomness,
      limit: 1,
      isIsolated: false,
      isDebugged: false,
      isManaged: false,
      announcedMs: undefined,
      onMove: () => undefined,
    });
    this.#worker = worker;
    this.#resolve(worker);
    return {
      receive: (message) => void worker.resolve(message),
      ended: ({ reason }) => worker.failRequests(reason),
      flushed: () => undefined,
    };
  }

  /** Runs `use` with the worker. Rejects with how the process ended, if it did. */
  async use<T>(use: (worker: FunctionWorker) => Promise<T>): Promise<T> {
    const { clock, connectWithinMs } = this.#options;
    const gone = this.#process.ended.then(() => Promise.reject(this.#lost()));
    const limit = new AbortController();
    const late = sleep(clock, connectWithinMs, limit.signal).then(() =>
      Promise.reject(workerLost({ workerId: this.id, reason: `it did not connect within ${connectWithinMs} ms` })),
    );
    late.catch(() => undefined);
    gone.catch(() => undefined);
    try {
      const worker = await Promise.race([this.#connected, gone, late]);
      limit.abort();
      return await Promise.race([use(worker), gone]);
    } catch (error) {
      // A worker that crashes loses its stream first; its process says why.
      if (this.#worker?.stream.ended) await Promise.race([this.#process.ended, sleep(clock, lostGraceMs)]);
      throw this.#end === undefined ? error : this.#lost();
    } finally {
      limit.abort();
    }
  }

  /** Kills the process. Resolves when it has ended. */
  async end(): Promise<void> {
    this.#options.admission.withdraw(this.id);
    this.#process.end(0);
    await this.#process.ended;
    this.#release();
  }

  #lost(): Error {
    return workerLost({ workerId: this.id, reason: this.#end ?? 'its process ended' });
  }
}
