import { isCodedError, type CodedError } from '@drover/contracts';
import { capability } from '@drover/function-rpc';
import type { Clock } from '@drover/service-kit';
import type { FunctionDefinition } from '../applications/function-definition.js';
import { httpValue } from '../bindings/http-answer.js';
import type { InvocationAssignment, InvocationOutcome } from '../invocations/invocation-call.js';
import { bodyStreamedAway, streamFailed } from './errors.js';
import type { PassedExchange } from './exchange.js';
import type { HttpStreamProxy, ProxiedAnswer } from './http-stream-proxy.js';
import { Refused, toRefusal } from './outcome-refusal.js';

export interface StreamingOptions {
  readonly clock: Clock;
  readonly proxy: HttpStreamProxy;
  /** Whether requests may be sent to the address that a worker reports: it is not trusted by itself. */
  readonly mayStreamTo: (httpUri: URL, assigned: InvocationAssignment) => boolean;
}

/** The request as the client sent it. */
export interface StreamedRequest {
  readonly host: string;
  readonly scheme: string;
  /** `streamed`: not read yet. */
  readonly body: Buffer | undefined | 'streamed';
  readonly bodyLimitBytes: number;
  /** The function has outputs: they are written before an answer that it does not stream. */
  readonly holdsAnswer: boolean;
}

/**
 * Time limit for the start of the answer after the invocation has succeeded: a function of the official Node.js worker that
 * returns nothing never answers, while the server of a Python worker may answer a moment after its invocation has ended.
 */
const lateAnswerMs = 2_000;
const noBody = Buffer.alloc(0);

/**
 * A request that is streamed through the HTTP server of a worker. The invocation and the answer end in any order.
 *
 * - The client leaves: the function is told and runs to its end.
 * - The answer fails before the worker has the request: the invocation is abandoned, since the worker would wait for the request.
 * - The answer fails later: the client gets an error, and the function, which is told, runs to its end.
 * - The invocation fails: the answer is aborted, or replaced with an error if it has not begun. One that is complete stays.
 * - The invocation succeeds, but the function returned no response: the answer never begins.
 * - The function has outputs: an answer that it returned as a whole is held until they are written.
 */
export class StreamedInvocation {
  readonly #exchange: PassedExchange;
  readonly #options: StreamingOptions;
  readonly #abort = new AbortController();
  #answer: ProxiedAnswer | undefined;
  #isComplete = false;
  #refuse: ((refusal: Refused) => void) | undefined;

  constructor(exchange: PassedExchange, options: StreamingOptions) {
    this.#exchange = exchange;
    this.#options = options;
    exchange.signal.addEventListener('abort', this.#follow, { once: true });
  }

  /** Aborts when the client leaves before its answer is complete, or the answer fails. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether the request went to the server of a worker. */
  get isAnswering(): boolean {
    return this.#answer !== undefined;
  }

  /** Sends the request to the assigned worker. A new attempt replaces the previous one. */
  begin(assigned: InvocationAssignment, { body, ...request }: StreamedRequest): void {
    if (this.#answer && body === 'streamed') return assigned.abandon(bodyStreamedAway({}));
    this.#answer?.abort();
    const text = assigned.capabilities[capability.httpUri] ?? '';
    const httpUri = URL.canParse(text) ? new URL(text) : undefined;
    if (httpUri?.protocol !== 'http:' || !this.#options.mayStreamTo(httpUri, assigned))
      return assigned.abandon(streamFailed({ reason: `its address ${text.slice(0, 100)} is not allowed` }));
    const whole = body === 'streamed' ? undefined : (body ?? noBody);
    const call = { ...request, httpUri, invocationId: assigned.invocationId, body: whole };
    const answer = this.#options.proxy.start(this.#exchange, call);
    this.#answer = answer;
    answer.done.then(
      () => (this.#isComplete = true),
      (error: unknown) => {
        if (!answer.isAborted) this.#fail(assigned, answer, toStreamError(error));
      },
    );
  }

  /** Resolves with the outcome. Rejects with Refused as soon as the answer fails while the function runs on. */
  outcomeOf(running: Promise<InvocationOutcome>): Promise<InvocationOutcome> {
    return new Promise((resolve, reject) => {
      this.#refuse = reject;
      void running.then(resolve);
    });
  }

  /**
   * Call when the invocation has ended. Resolves with true when the answer is complete, with false if the worker sends none:
   * then the response of the invocation is the answer. Rejects with Refused if an error must be answered.
   */
  async settle(outcome: InvocationOutcome, definition: FunctionDefinition): Promise<boolean> {
    if (outcome.kind === 'succeeded')
      return await this.#finish(outcome.invocationId, httpValue(definition, outcome.response) !== undefined);
    this.#giveUp(toRefusal(outcome));
    return true;
  }

  async #finish(invocationId: string, hasResponse: boolean): Promise<boolean> {
    const answer = this.#answer;
    answer?.release();
    let isMissing = hasResponse && !answer?.hasBegun;
    if (isMissing) answer?.abort();
    const cancel = this.#options.clock.after(lateAnswerMs, () => {
      isMissing = !answer?.hasBegun;
      if (isMissing) answer?.abort();
    });
    try {
      await answer?.done;
      return true;
    } catch (error) {
      if (isMissing) return false;
      if (!answer?.hasBegun) throw new Refused(toStreamError(error), invocationId);
      this.#exchange.sink.destroy();
      return true;
    } finally {
      cancel();
    }
  }

  #giveUp(refusal: Refused): void {
    // The client has its answer, and its connection may serve the next request: the failure is in the log only.
    if (this.#isAnswered()) return;
    this.abort();
    if (!this.#answer?.hasBegun) throw refusal;
    // A partial answer cannot be replaced; closing the connection shows the client that it is incomplete.
    this.#exchange.sink.destroy();
  }

  /** Aborts the answer: the invocation has failed. */
  abort(): void {
    this.#answer?.abort();
  }

  /** Unsubscribes from the signal of the connection, which may serve more requests. */
  end(): void {
    this.#exchange.signal.removeEventListener('abort', this.#follow);
  }

  #fail(assigned: InvocationAssignment, { isSent, hasBegun }: ProxiedAnswer, error: CodedError): void {
    if (!isSent) return assigned.abandon(error);
    this.#abort.abort(error);
    // A partial answer cannot be replaced. Without `outcomeOf`, only the end of the connection tells the client.
    if (hasBegun || !this.#refuse) this.#exchange.sink.destroy();
    else this.#refuse(new Refused(error, assigned.invocationId));
  }

  readonly #follow = (): void => {
    if (!this.#isAnswered()) this.#abort.abort(this.#exchange.signal.reason);
  };

  #isAnswered(): boolean {
    return this.#isComplete && this.#answer?.isHeld !== true;
  }
}

function toStreamError(error: unknown): CodedError {
  return isCodedError(error) ? error : streamFailed({ reason: String(error) });
}
