import { isCodedError } from '@drover/contracts';
import { capability } from '@drover/function-rpc';
import type { Clock } from '@drover/service-kit';
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
}

/** Time limit for the start of the answer after the invocation has ended. */
const lateAnswerMs = 5_000;
const noBody = Buffer.alloc(0);

/**
 * A request that is streamed through the HTTP server of a worker. The invocation and the answer end in any order. A failed
 * answer cancels the invocation, since the worker would wait for a request that never arrives. A failed invocation aborts the
 * answer, or replaces it with an error if it has not begun.
 */
export class StreamedInvocation {
  readonly #exchange: PassedExchange;
  readonly #options: StreamingOptions;
  readonly #abort = new AbortController();
  readonly #endsCall: boolean;
  #answer: ProxiedAnswer | undefined;

  /** `endsCall`: the invocation uses `signal` of this object. Otherwise only the end of the connection cancels it. */
  constructor(exchange: PassedExchange, options: StreamingOptions, endsCall: boolean) {
    this.#exchange = exchange;
    this.#options = options;
    this.#endsCall = endsCall;
    exchange.signal.addEventListener('abort', this.#follow, { once: true });
  }

  /** Aborts when the client disconnects or the answer fails. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether the answer comes, or should have come, from the server of a worker. */
  get isAnswering(): boolean {
    return this.#answer !== undefined || isCodedError(this.#abort.signal.reason);
  }

  /** Sends the request to the assigned worker. A new attempt replaces the previous one. */
  begin(assigned: InvocationAssignment, { host, scheme, body }: StreamedRequest): void {
    if (this.#answer && body === 'streamed') return this.#fail(bodyStreamedAway({}));
    this.#answer?.abort();
    const text = assigned.capabilities[capability.httpUri] ?? '';
    const httpUri = URL.canParse(text) ? new URL(text) : undefined;
    if (httpUri?.protocol !== 'http:' || !this.#options.mayStreamTo(httpUri, assigned))
      return this.#fail(streamFailed({ reason: `its address ${text.slice(0, 100)} is not allowed` }));
    const whole = body === 'streamed' ? undefined : (body ?? noBody);
    const { invocationId } = assigned;
    const answer = this.#options.proxy.start(this.#exchange, { httpUri, invocationId, host, scheme, body: whole });
    this.#answer = answer;
    answer.done.catch((error: unknown) => {
      if (!answer.isAborted) this.#fail(error);
    });
  }

  /** Call when the invocation has ended. Throws Refused if an error must be answered. */
  async settle(outcome: InvocationOutcome): Promise<void> {
    if (outcome.kind === 'succeeded') await this.#finish(outcome.invocationId);
    else this.#giveUp(toRefusal(outcome));
  }

  /** After success, waits for the answer. One that does not begin in time is aborted. */
  async #finish(invocationId: string): Promise<void> {
    const answer = this.#answer;
    const cancel = this.#options.clock.after(lateAnswerMs, () => {
      if (!answer?.hasBegun) answer?.abort();
    });
    try {
      await answer?.done;
    } catch (error) {
      if (answer?.hasBegun) this.#exchange.sink.destroy();
      else throw new Refused(isCodedError(error) ? error : streamFailed({ reason: String(error) }), invocationId);
    } finally {
      cancel();
    }
  }

  #giveUp(refusal: Refused): void {
    this.#answer?.abort();
    if (this.#answer?.hasBegun) {
      // A partial answer cannot be replaced; closing the connection shows the client that it is incomplete.
      this.#exchange.sink.destroy();
      return;
    }
    const reason: unknown = this.#abort.signal.reason;
    throw isCodedError(reason) ? new Refused(reason) : refusal;
  }

  /** Unsubscribes from the signal of the connection, which may serve more requests. */
  end(): void {
    this.#exchange.signal.removeEventListener('abort', this.#follow);
  }

  #fail(error: unknown): void {
    this.#abort.abort(error);
    if (!this.#endsCall) this.#exchange.sink.destroy();
  }

  readonly #follow = (): void => this.#abort.abort(this.#exchange.signal.reason);
}
