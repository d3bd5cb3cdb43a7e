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
  /** Where a worker may have its own server: its word alone is not enough to send requests there. */
  readonly mayStreamTo: (httpUri: URL, assigned: InvocationAssignment) => boolean;
}

/** How the caller knows this server, and what it sent. */
export interface StreamedRequest {
  readonly host: string;
  readonly scheme: string;
  /** `streamed`: still on the connection. */
  readonly body: Buffer | undefined | 'streamed';
}

/** How long a worker's own answer may take to begin after the invocation has ended. */
const lateAnswerMs = 5_000;
const noBody = Buffer.alloc(0);

/**
 * A request on its way through the server of a worker. Two things end it, in any order: the invocation, and the answer. The
 * answer that fails ends the invocation too, since its worker waits for a request that will not come; the invocation that
 * fails breaks off the answer, or replaces it if it has not begun.
 */
export class StreamedInvocation {
  readonly #exchange: PassedExchange;
  readonly #options: StreamingOptions;
  readonly #abort = new AbortController();
  readonly #endsCall: boolean;
  #answer: ProxiedAnswer | undefined;

  /** `endsCall`: the invocation was given our signal. Otherwise only the end of the connection ends it. */
  constructor(exchange: PassedExchange, options: StreamingOptions, endsCall: boolean) {
    this.#exchange = exchange;
    this.#options = options;
    this.#endsCall = endsCall;
    exchange.signal.addEventListener('abort', this.#follow, { once: true });
  }

  /** Aborts when the caller is gone, or when the answer has failed. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The answer comes from a worker's own server, or was meant to. */
  get isAnswering(): boolean {
    return this.#answer !== undefined || isCodedError(this.#abort.signal.reason);
  }

  /** Passes the request on to whom it was assigned; another attempt replaces the one before. */
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

  /** The invocation has ended. Throws what is to be answered, unless something else was begun to be. */
  async settle(outcome: InvocationOutcome): Promise<void> {
    if (outcome.kind === 'succeeded') await this.#finish(outcome.invocationId);
    else this.#giveUp(toRefusal(outcome));
  }

  /** It ended well: so must the answer, and what has not begun by now is not likely to. */
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
      // Half an answer cannot be taken back; that it is none is seen by the connection breaking off.
      this.#exchange.sink.destroy();
      return;
    }
    const reason: unknown = this.#abort.signal.reason;
    throw isCodedError(reason) ? new Refused(reason) : refusal;
  }

  /** Lets go of the connection's signal, which may live on. */
  end(): void {
    this.#exchange.signal.removeEventListener('abort', this.#follow);
  }

  #fail(error: unknown): void {
    this.#abort.abort(error);
    if (!this.#endsCall) this.#exchange.sink.destroy();
  }

  readonly #follow = (): void => this.#abort.abort(this.#exchange.signal.reason);
}
