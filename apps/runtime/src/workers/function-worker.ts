import type {
  EventStream,
  StreamingMessage,
  StreamingMessageContent,
  StreamingMessageInit,
  StreamingMessageKind,
} from '@drover/function-rpc';
import type { StateMachine } from '@drover/contracts';
import type { Clock, Randomness } from '@drover/service-kit';
import type { WorkerCapabilities } from '../bindings/invocation-inputs.js';
import { workerLost, workerSilent } from '../errors.js';
import { functionWorkerStates, type FunctionWorkerState } from './function-worker-states.js';
import type { RoutableWorker } from './routable-worker.js';

export interface FunctionWorkerOptions {
  readonly id: string;
  readonly stream: EventStream;
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** How many invocations it may have at a time. */
  readonly limit: number;
  readonly onMove: (worker: FunctionWorker, change: { from: FunctionWorkerState; to: FunctionWorkerState }) => void;
}

/** Somebody waits for an answer of the worker. */
interface Question {
  readonly kind: StreamingMessageKind;
  readonly answer: (value: never) => void;
  readonly fail: (error: Error) => void;
}

/** One connected function worker: its stream, where it stands, and the questions it has not answered. */
export class FunctionWorker implements RoutableWorker {
  readonly id: string;
  readonly stream: EventStream;
  readonly limit: number;
  readonly connectedMs: number;
  /** What it runs, once it runs something. */
  applicationKey: string | undefined;
  jobHostKey: string | undefined;
  codeVersion = '';
  capabilities: WorkerCapabilities = {};
  runtime = '';
  /** When it was last heard of. */
  heardMs: number;
  missedHeartbeats = 0;
  consecutiveTimeouts = 0;
  /** It was told to end: the end of its stream is no loss. */
  wasTerminated = false;
  readonly #clock: Clock;
  readonly #randomness: Randomness;
  readonly #state: StateMachine<FunctionWorkerState>;
  readonly #questions = new Map<string, Question>();

  constructor(options: FunctionWorkerOptions) {
    this.id = options.id;
    this.stream = options.stream;
    this.limit = options.limit;
    this.#clock = options.clock;
    this.#randomness = options.randomness;
    this.connectedMs = options.clock.monotonicMs();
    this.heardMs = this.connectedMs;
    this.#state = functionWorkerStates.start('initializing', (change) => options.onMove(this, change));
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

  /** Where that is allowed; else nothing happens. */
  tryMove(to: FunctionWorkerState): boolean {
    if (!functionWorkerStates.canMove(this.#state.current, to)) return false;
    this.#state.move(to);
    return true;
  }

  can(capability: string): boolean {
    return Boolean(this.capabilities[capability]);
  }

  /** False when it does not keep up with what it is sent. */
  send(message: StreamingMessageInit): boolean {
    return this.stream.send(message);
  }

  /** Asks and waits for an answer of that kind; some workers repeat our request id in it, others do not. */
  ask<Kind extends StreamingMessageKind>(
    question: StreamingMessageInit,
    kind: Kind,
    timeoutMs: number,
  ): Promise<StreamingMessageContent[Kind]> {
    const requestId = this.#randomness.uuid();
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(timeoutMs, () => {
        this.#questions.delete(requestId);
        reject(workerSilent({ workerId: this.id, awaited: question.kind, timeoutMs }));
      });
      const done = (): void => {
        this.#questions.delete(requestId);
        cancel();
      };
      this.#questions.set(requestId, {
        kind,
        answer(value) {
          done();
          resolve(value);
        },
        fail(error) {
          done();
          reject(error);
        },
      });
      this.send({ ...question, requestId });
    });
  }

  /** True when somebody waited for this message. */
  answer(message: StreamingMessage): boolean {
    const { kind, requestId } = message;
    if (kind === undefined) return false;
    const byId = this.#questions.get(requestId);
    const question = byId?.kind === kind ? byId : this.#oldest(kind);
    if (!question) return false;
    question.answer(message.value as never); // of that kind, which the question was for
    return true;
  }

  /** Nothing will be answered any more. */
  failQuestions(reason: string): void {
    for (const question of this.#questions.values()) question.fail(workerLost({ workerId: this.id, reason }));
  }

  #oldest(kind: StreamingMessageKind): Question | undefined {
    for (const question of this.#questions.values()) if (question.kind === kind) return question;
    return undefined;
  }
}
