import type { StateMachine } from '@drover/contracts';
import type {
  EventStream,
  StreamingMessage,
  StreamingMessageContent,
  StreamingMessageInit,
  StreamingMessageKind,
} from '@drover/function-rpc';
import type { Clock, Randomness } from '@drover/service-kit';
import type { WorkerCapabilities } from '../bindings/invocation-inputs.js';
import { workerLost, workerSilent } from '../errors.js';
import { functionWorkerStates, type FunctionWorkerState } from './function-worker-states.js';
import type { RoutableWorker } from './routable-worker.js';
import { WorkerPace } from './worker-pace.js';

interface FunctionWorkerOptions {
  readonly id: string;
  readonly stream: EventStream;
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** Maximum number of concurrent invocations. */
  readonly limit: number;
  readonly isIsolated: boolean;
  readonly isDebugged: boolean;
  /** When its process was about to be started; undefined if that is not known. */
  readonly announcedMs: number | undefined;
  readonly isManaged: boolean;
  readonly onMove: (worker: FunctionWorker, change: { from: FunctionWorkerState; to: FunctionWorkerState }) => void;
}

/** A request to the worker whose response has not arrived. */
interface PendingRequest {
  readonly kind: StreamingMessageKind;
  readonly accepts: (value: never) => boolean;
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

/** When the steps of its start were done, on the monotonic clock; undefined for a step that has not been done. */
interface StartTimes {
  readonly announcedMs: number | undefined;
  readonly connectedMs: number;
  initializedMs: number | undefined;
  assignedMs: number | undefined;
  reloadedMs: number | undefined;
  readyMs: number | undefined;
}

/** One connected function worker: its stream, its state and its pending requests. */
export class FunctionWorker implements RoutableWorker {
  readonly id: string;
  readonly stream: EventStream;
  readonly start: StartTimes;
  readonly pace = new WorkerPace();
  /** A debugger may halt it: it is not judged by its silence. */
  readonly isDebugged: boolean;
  /** Started by a scale controller: it gets its settings from this runtime, and may return after this runtime was restarted. */
  readonly isManaged: boolean;
  /** `tenant/application:code`; undefined for a placeholder. */
  applicationKey: string | undefined;
  jobHostKey: string | undefined;
  codeVersion = '';
  /** Functions that it refused to load: the reason of each, by function id. Undefined if it loaded all. */
  refusals: ReadonlyMap<string, string> | undefined;
  capabilities: WorkerCapabilities = {};
  /** Time of its last message. */
  heardMs: number;
  consecutiveTimeouts = 0;
  /** The runtime told it to end, so the end of its stream is not a loss. */
  wasTerminated = false;
  /** Why it was abandoned or lost; undefined until then. */
  endReason: string | undefined;
  readonly #clock: Clock;
  readonly #randomness: Randomness;
  readonly #limit: number;
  #isIsolated: boolean;
  readonly #state: StateMachine<FunctionWorkerState>;
  readonly #requests = new Map<string, PendingRequest>();

  constructor(options: FunctionWorkerOptions) {
    this.id = options.id;
    this.stream = options.stream;
    this.#limit = options.limit;
    this.#isIsolated = options.isIsolated;
    this.isDebugged = options.isDebugged;
    this.isManaged = options.isManaged;
    this.#clock = options.clock;
    this.#randomness = options.randomness;
    const connectedMs = options.clock.monotonicMs();
    this.start = {
      announcedMs: options.announcedMs,
      connectedMs,
      initializedMs: undefined,
      assignedMs: undefined,
      reloadedMs: undefined,
      readyMs: undefined,
    };
    this.heardMs = connectedMs;
    this.#state = functionWorkerStates.start('initializing', (change) => options.onMove(this, change));
  }

  /** It runs one invocation at a time, of those that may have ended another worker. */
  get isIsolated(): boolean {
    return this.#isIsolated;
  }

  get limit(): number {
    return this.#isIsolated ? 1 : this.#limit;
  }

  /** Whether it is handed calls by its pace. One that a debugger may halt gets all of them, and so does one that cannot be probed. */
  get isPaced(): boolean {
    return !this.#isIsolated && !this.isDebugged && this.can('WorkerStatus');
  }

  readonly mayTake = (reserved: number): boolean => !this.isPaced || this.pace.mayTake(reserved);

  /** Makes a placeholder a worker for isolated invocations. */
  isolate(): void {
    this.#isIsolated = true;
  }

  get state(): FunctionWorkerState {
    return this.#state.current;
  }

  is(...states: readonly FunctionWorkerState[]): boolean {
    return this.#state.is(...states);
  }

  move(to: FunctionWorkerState): void {
    this.#state.move(to);
  }

  /** Moves if the transition is legal. Returns whether it moved. */
  tryMove(to: FunctionWorkerState): boolean {
    if (!functionWorkerStates.canMove(this.#state.current, to)) return false;
    this.#state.move(to);
    return true;
  }

  /** Returns why it did not load a function; undefined if it did. */
  refusalOf(functionId: string): string | undefined {
    return this.refusals?.get(functionId);
  }

  can(capability: string): boolean {
    return Boolean(this.capabilities[capability]);
  }

  /** Whether it was sent WorkerTerminate and handles it: then a signal would only cut its shutdown short. */
  get endsByItself(): boolean {
    return this.wasTerminated && this.can('HandlesWorkerTerminateMessage');
  }

  /** Returns false if the send buffer is full. */
  send(message: StreamingMessageInit): boolean {
    return this.stream.send(message);
  }

  /**
   * Sends a request and resolves with the response of the given kind. Rejects with RUNTIME_WORKER_SILENT after the timeout,
   * and with RUNTIME_WORKER_LOST if the worker disconnects. `accepts` recognizes the response of a worker that does not repeat the
   * request id.
   */
  request<Kind extends StreamingMessageKind>(
    message: StreamingMessageInit,
    kind: Kind,
    timeoutMs: number,
    { accepts = () => true }: { readonly accepts?: (value: StreamingMessageContent[Kind]) => boolean } = {},
  ): Promise<StreamingMessageContent[Kind]> {
    const requestId = this.#randomness.uuid();
    return new Promise((resolve, reject) => {
      const expire = (): void => {
        this.#requests.delete(requestId);
        reject(workerSilent({ workerId: this.id, awaited: message.kind, timeoutMs }));
      };
      const cancel = this.isDebugged ? () => undefined : this.#clock.after(timeoutMs, expire);
      const done = (): void => {
        this.#requests.delete(requestId);
        cancel();
      };
      this.#requests.set(requestId, {
        kind,
        accepts,
        resolve(value) {
          done();
          resolve(value);
        },
        reject(error) {
          done();
          reject(error);
        },
      });
      this.send({ ...message, requestId });
    });
  }

  /**
   * Resolves the pending request that a message responds to: by request id, else the oldest one of its kind that accepts it,
   * since some workers do not repeat the request id. Returns false if there is none.
   */
  resolve(message: StreamingMessage): boolean {
    const { kind, requestId } = message;
    if (kind === undefined) return false;
    const byId = this.#requests.get(requestId);
    const value = message.value as never; // the kind of the request determines the type of the value
    const request = byId?.kind === kind ? byId : this.#oldest(kind, value);
    if (!request) return false;
    request.resolve(value);
    return true;
  }

  /** Rejects all pending requests. */
  failRequests(reason: string): void {
    for (const request of this.#requests.values()) request.reject(workerLost({ workerId: this.id, reason }));
  }

  #oldest(kind: StreamingMessageKind, value: never): PendingRequest | undefined {
    for (const request of this.#requests.values()) if (request.kind === kind && request.accepts(value)) return request;
    return undefined;
  }
}
