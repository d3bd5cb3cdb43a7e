import type { Connection } from '../types/driver.js';
import { UnknownMessageError, WorkerUnavailableError, type CrashFacts } from '../types/errors.js';
import { startFailure, startTimeout } from './crash-report.js';
import { startConnection } from './start-connection.js';
import { afterTurning } from './turning-time.js';
import { fromErrorData, sendError } from './wire/error-data.js';
import { kind, type HostCallMessage, type ToHost, type ToWorker } from '../types/wire-message.js';
import type { IsolatedWorkerSettings } from './worker-settings.js';

export interface LiveWorkerEvents {
  readonly onMessage: (worker: LiveWorker, message: ToHost) => void;
  readonly onShutdown: (worker: LiveWorker, facts: CrashFacts) => void;
}

/** One process or thread from its start to its end. */
export class LiveWorker {
  readonly ready: Promise<void>;
  readonly #connection: Connection;
  #isReady = false;
  #over: CrashFacts | undefined;
  #overMemory = false;
  #isRetired = false;
  /** Why it is not ready, to be completed with how it ended. */
  #startError: (facts: CrashFacts) => Error = startFailure;
  #fail: (error: Error) => void = () => undefined;

  constructor({ driver, spec, startupMs }: IsolatedWorkerSettings, events: LiveWorkerEvents) {
    let become: () => void = () => undefined;
    this.ready = new Promise((resolve, reject) => {
      become = resolve;
      this.#fail = reject;
    });
    this.ready.catch(() => undefined);
    let stopClock = (): void => undefined;
    this.#connection = startConnection(driver, spec, {
      onMessage: (message) => {
        if (message[0] === kind.ready) {
          stopClock();
          this.#isReady = true;
          become();
        } else if (message[0] === kind.startupFailed) this.#refuse(fromErrorData(message[1]));
        else events.onMessage(this, message);
      },
      onShutdown: (reported) => {
        stopClock();
        if (this.#over) return;
        const facts = {
          ...reported,
          outOfMemory: reported.outOfMemory || this.#overMemory,
          endedByHost: this.#isRetired,
        };
        this.#over = facts;
        this.#fail(this.#startError(facts));
        events.onShutdown(this, facts);
      },
    });
    if (startupMs > 0 && !this.#isReady && !this.#over)
      stopClock = afterTurning(startupMs, () => this.#giveUp(startupMs));
  }

  get pid(): number | undefined {
    return this.#over ? undefined : this.#connection.pid;
  }

  get isReady(): boolean {
    return this.#isReady && this.#over === undefined;
  }

  get isOver(): boolean {
    return this.#over !== undefined;
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** True when this library ended the worker on purpose: no request is to blame. */
  get isRetired(): boolean {
    return this.#isRetired;
  }

  retire(): void {
    this.#isRetired = true;
    this.#connection.kill();
  }

  /** Kills the worker and marks its end as out of memory, which the system does not report for a kill. */
  killForMemory(): void {
    if (this.#over) return;
    this.#overMemory = true;
    this.#connection.kill();
  }

  /** Ends the worker. One that is not ready is killed: it has nothing to finish and may never respond. */
  end(graceMs: number): Promise<void> {
    if (!this.#isReady && !this.#over) this.#connection.kill();
    return this.#connection.end(graceMs);
  }

  setRef(isRef: boolean): void {
    this.#connection.setRef?.(isRef);
  }

  send(message: ToWorker, transfer?: readonly ArrayBuffer[]): void {
    this.#connection.send(message, transfer);
  }

  /** The script itself reports that it cannot serve. */
  #refuse(cause: Error): void {
    this.#fail(new WorkerUnavailableError(cause.message, { cause }));
  }

  #giveUp(startupMs: number): void {
    this.#startError = (facts) => startTimeout(startupMs, facts);
    this.#connection.kill();
  }
}

/** Runs a host handler for `callHost` and sends its result, unless the worker died meanwhile. */
export async function answerHostCall(
  worker: LiveWorker,
  hostHandlers: unknown,
  [, id, type, payload]: HostCallMessage,
): Promise<void> {
  const handlers = (hostHandlers ?? {}) as Readonly<Record<string, (payload: unknown) => unknown>>;
  try {
    if (!Object.hasOwn(handlers, type))
      throw new UnknownMessageError(`The host has no handler '${type}'. Add it to hostHandlers.`);
    const result: unknown = await handlers[type]?.(payload);
    if (worker.isReady) worker.send(result === undefined ? [kind.hostResult, id] : [kind.hostResult, id, result]);
  } catch (error) {
    if (worker.isReady) sendError(error, (data) => worker.send([kind.hostError, id, data]));
  }
}
