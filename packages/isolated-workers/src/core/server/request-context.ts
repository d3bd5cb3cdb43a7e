import type { RequestExtra } from '../../types/wire-message.js';
import { StreamCredit } from './send-stream.js';

/** How a handler speaks to the host while it is at work. */
export interface Voice {
  readonly progress: (id: number, progress: unknown) => void;
  readonly callHost: (type: string, payload: unknown) => Promise<unknown>;
}

/** What a handler gets beside its payload. What most handlers never ask for is made when one does. */
export class RequestContext {
  readonly attempt: number;
  readonly traceparent: string | undefined;
  readonly #id: number;
  readonly #credit: StreamCredit | undefined;
  readonly #voice: Voice;
  #controller: AbortController | undefined;

  constructor(id: number, extra: RequestExtra | 0, voice: Voice) {
    this.attempt = extra ? extra[0] : 1;
    this.traceparent = extra ? (extra[1] ?? undefined) : undefined;
    this.#id = id;
    this.#credit = extra && extra[2] > 0 ? new StreamCredit(extra[2]) : undefined;
    this.#voice = voice;
  }

  get signal(): AbortSignal {
    return (this.#controller ??= new AbortController()).signal;
  }

  get progress(): (progress: unknown) => void {
    return (progress) => this.#voice.progress(this.#id, progress);
  }

  get callHost(): (type: string, payload?: unknown) => Promise<unknown> {
    return (type, payload) => this.#voice.callHost(type, payload);
  }

  /** Not for handlers, who would see them as methods of theirs. */
  static credit(context: RequestContext | undefined): StreamCredit | undefined {
    return context && context.#credit;
  }

  static abort(context: RequestContext | undefined, reason: unknown): void {
    if (context) (context.#controller ??= new AbortController()).abort(reason);
  }
}
