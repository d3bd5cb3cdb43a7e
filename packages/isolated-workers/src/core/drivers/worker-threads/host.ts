import type { Readable } from 'node:stream';
import type { Worker, WorkerOptions } from 'node:worker_threads';
import type { ConnectSpec, Connection, ConnectionEvents, Driver, WorkerSample } from '../../../types/driver.js';
import { SerializationError } from '../../../types/errors.js';
import { hadStartedBy, journalBytes, threadDataKey } from '../../launch/launch-parameters.js';
import { inheritedExecArgv, typeScriptArguments, workerEnvironment } from '../../launch/script.js';
import { StderrTail } from '../../launch/stderr-tail.js';
import { kind, type ToHost, type ToWorker } from '../../../types/wire-message.js';
import { asError, thrownMessage } from '../../wire/error-data.js';
import { withOwnBytes } from '../../wire/own-bytes.js';
import { PortQueue } from '../../wire/port-queue.js';
import { unsendableData } from '../../launch/worker-data.js';

/**
 * Runs workers in threads of this process: faster messages and transfer of ArrayBuffers, but no isolation of the process. On
 * Node 20 one huge array ends the whole process, even with a heap limit.
 */
export const workerThreads: Driver = {
  name: 'worker-threads',
  capabilities: { reconnect: true, transfer: true, kill: true, memoryLimit: true },
  connect: (spec, events) => new ThreadConnection(spec, events),
};

/**
 * How long a killed thread has to end. One in a system call, for instance in `execSync`, ends only after that: it is given up,
 * and runs no further instruction of its script then.
 */
const terminateMs = 200;

class ThreadConnection implements Connection {
  readonly pid = process.pid;
  readonly #worker: Worker;
  readonly #out: PortQueue;
  readonly #journal = new Int32Array(new SharedArrayBuffer(journalBytes));
  readonly #stderr = new StderrTail();
  readonly #startedMs = performance.now();
  readonly #events: ConnectionEvents;
  readonly #gone: Promise<void>;
  #failure: Error | undefined;
  #resolveGone: () => void = () => undefined;
  /** Set when the thread was killed. */
  #deadline: NodeJS.Timeout | undefined;
  #isReported = false;

  constructor(spec: ConnectSpec, events: ConnectionEvents) {
    this.#events = events;
    const { serializer } = spec;
    const worker = startThread(spec.script, {
      argv: [...spec.argv],
      env: spec.env === undefined && spec.inheritEnv ? process.env : workerEnvironment(spec), // Node copies it, too
      ...threadFlags(spec),
      workerData: {
        [threadDataKey]: {
          journal: this.#journal.buffer,
          serializer: serializer?.name ?? null,
          workerData: ownWorkerData(spec.workerData),
        },
      },
      ...(spec.maxHeapMb !== undefined && { resourceLimits: { maxOldGenerationSizeMb: spec.maxHeapMb } }),
    });
    this.#worker = worker;
    this.#out = new PortQueue(worker, serializer);
    worker.on('message', (batch: unknown) => {
      try {
        this.#out.open<ToHost>(batch, this.#onMessage);
      } catch (error) {
        this.#unreadable(error);
      }
    });
    // Any value that the thread threw and did not catch.
    worker.on('error', (thrown: unknown) => (this.#failure ??= asError(thrown)));
    worker.on('messageerror', (error) => this.#unreadable(error));
    detach(worker.stderr, process.stderr);
    worker.stderr.on('data', (chunk: Buffer) => {
      this.#stderr.add(chunk);
      if (spec.stderr === 'inherit') process.stderr.write(chunk);
    });
    if (spec.stdout === 'ignore') detach(worker.stdout, process.stdout);
    this.#gone = new Promise((resolve) => (this.#resolveGone = resolve));
    worker.once('exit', (code) => this.#report(code));
  }

  send(message: ToWorker, transfer?: readonly ArrayBuffer[]): void {
    this.#out.send(message, transfer);
  }

  hadStarted(id: number): boolean {
    return hadStartedBy(Atomics.load(this.#journal, 0), id);
  }

  /** Not supported: a thread shares the memory of its process. */
  sample(): Promise<WorkerSample | undefined> {
    return Promise.resolve(undefined);
  }

  async end(graceMs: number): Promise<void> {
    if (!this.#isReported) {
      this.#out.send([kind.close]);
      this.#out.flush();
      const timer = setTimeout(() => this.kill(), graceMs);
      await this.#gone;
      clearTimeout(timer);
    }
    await this.#gone;
  }

  kill(): void {
    if (this.#deadline || this.#isReported) return;
    // After a busy turn of the host the exit event may be due: it is handled before an immediate.
    this.#deadline = setTimeout(() => setImmediate(() => this.#giveUp()), terminateMs);
    void this.#worker.terminate();
  }

  setRef(isRef: boolean): void {
    if (isRef) this.#worker.ref();
    else this.#worker.unref();
  }

  #giveUp(): void {
    this.#worker.unref();
    this.#report(null);
  }

  #unreadable(error: unknown): void {
    this.#failure ??= new SerializationError(`A message cannot be read: ${thrownMessage(error)}`, { cause: error });
    this.kill();
  }

  readonly #onMessage = (message: ToHost): void => {
    if (!this.#isReported) this.#events.onMessage(message);
  };

  /** Reports the end once. `code` is null for a thread that was given up. */
  #report(code: number | null): void {
    if (this.#isReported) return;
    this.#isReported = true;
    clearTimeout(this.#deadline);
    const failure = this.#failure;
    const outOfMemory = failure !== undefined && 'code' in failure && failure.code === 'ERR_WORKER_OUT_OF_MEMORY';
    this.#events.onShutdown({
      reason: failure ? { type: 'error', error: failure } : { type: 'exit', code, signal: null },
      pid: this.pid,
      exitCode: code,
      signal: this.#deadline ? 'SIGKILL' : null,
      stderr: this.#stderr.toString() || (failure?.stack ?? ''),
      outOfMemory,
      uptimeMs: performance.now() - this.#startedMs,
    });
    this.#resolveGone();
  }
}

function ownWorkerData(workerData: unknown): unknown {
  try {
    return withOwnBytes(workerData);
  } catch (error) {
    throw unsendableData(error); // a getter threw
  }
}

/**
 * Separates the output of a thread from that of this process. Not by the options of the thread: a stream that is captured so
 * keeps this process alive until the thread ends, whatever `unref` says.
 */
function detach(output: Readable, target: NodeJS.WritableStream): void {
  output.unpipe(target);
  output.resume();
}

function startThread(script: string, options: WorkerOptions): Worker {
  const threads = process.getBuiltinModule('node:worker_threads'); // on demand: hosts of processes do not need it
  try {
    return new threads.Worker(script, options);
  } catch (error) {
    throw error instanceof DOMException && error.name === 'DataCloneError' ? unsendableData(error) : error;
  }
}

/** Returns the flags of a thread. It inherits those of its process; naming V8 flags again is an error. */
function threadFlags({ script, execArgv }: ConnectSpec): { readonly execArgv?: string[] } {
  const loader = typeScriptArguments(script, execArgv ?? process.execArgv, 'thread');
  if (execArgv) return { execArgv: [...execArgv, ...loader] };
  // A host that was given as text, with -e or on stdin, may have it; Node refuses it for a file.
  const hasInputType = process.execArgv.some((flag) => flag.startsWith('--input-type'));
  return loader.length === 0 && !hasInputType ? {} : { execArgv: [...inheritedExecArgv(isOfNode), ...loader] };
}

/** True for flags of Node that affect how a script is loaded. */
function isOfNode(flag: string): boolean {
  return /^(--import|--require|-r|--loader|--experimental-|--conditions|-C|--enable-source-maps|--no-)/.test(flag);
}
