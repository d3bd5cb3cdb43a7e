import type { RequestExtra } from '../../types/wire-message.js';
import { StreamCredit } from './send-stream.js';

/** What a handler can send to the host while it runs. */
export interface HostChannel {
  readonly progress: (id: number, progress: unknown) => void;
  readonly callHost: (type: string, payload: unknown) => Promise<unknown>;
}

/** The second argument of a handler. Rarely used members are created on first use. */
export class RequestContext {
  readonly attempt: number;
  readonly traceparent: string | undefined;
  readonly #id: number;
  readonly #credit: StreamCredit | undefined;
  readonly #host: HostChannel;
  #controller: AbortController | undefined;

  constructor(id: number, extra: RequestExtra | 0, host: HostChannel) {
    this.attempt = extra ? extra[0] : 1;
    this.traceparent = extra ? (extra[1] ?? undefined) : undefined;
    this.#id = id;
    this.#credit = extra && extra[2] > 0 ? new StreamCredit(extra[2]) : undefined;
    this.#host = host;
  }

  get signal(): AbortSignal {
    return (this.#controller ??= new AbortController()).signal;
  }

  get progress(): (progress: unknown) => void {
    return (progress) => this.#host.progress(this.#id, progress);
  }

  get callHost(): (type: string, payload?: unknown) => Promise<unknown> {
    return (type, payload) => this.#host.callHost(type, payload);
  }

  /** Static, because handlers must not see it as a method of their context. */
  static credit(context: RequestContext | undefined): StreamCredit | undefined {
    return context && context.#credit;
  }

  static abort(context: RequestContext | undefined, reason: unknown): void {
    if (context) (context.#controller ??= new AbortController()).abort(reason);
  }
}
