import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { AnswerSink } from '@drover/http-edge';
import type { ByteBudget } from './byte-budget.js';

/** What is read of a request, whichever way it came in. */
export interface ReceivedRequest extends Pick<IncomingMessage, 'headers' | 'httpVersion'> {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** Names and values in turn, as they were sent. */
  readonly rawHeaders: readonly string[];
  readonly socket: { readonly remoteAddress?: string | undefined };
}

export interface BodyLimits {
  readonly bytes: number;
  /** Of a body that is read as a whole: it goes to its worker in one message. */
  readonly bufferedBytes: number;
  /** Between two parts of a body. */
  readonly idleMs: number;
  /** Shared by all bodies that are held in memory. */
  readonly budget: ByteBudget;
}

/** Records that a part of a body is held in memory. Returns false if there is no room for it. */
export type HoldBytes = (bytes: number) => boolean;

/** One request and the way back to its client: on the fast lane, or on Node's server. */
export interface FunctionsWire {
  readonly request: ReceivedRequest;
  /** Aborts when the client closes the connection. */
  readonly signal: AbortSignal;
  /** Nothing that is written now reaches the client. */
  readonly isOver: boolean;
  /** A part of an answer was written: no other can be. */
  readonly hasBegun: boolean;
  /** Called once: with the status of a complete answer, or with 499 if the client left before. */
  onEnd: ((status: number) => void) | undefined;
  /** Writes a whole answer. `headers` are names and values in turn, without the length; no body where the status allows none. */
  answer(status: number, headers: readonly string[], body: string | Uint8Array | undefined): void;
  /** Reads the whole body. Throws or rejects with FUNCTION_BODY_TOO_LARGE, FUNCTION_BODIES_FULL, or why the connection ended. */
  readBody(limits: BodyLimits, limitBytes: number, hold: HoldBytes): Buffer | Promise<Buffer>;
  /** The body as it arrives, for a proxy; undefined if it was received with the head. */
  readonly body: Readable | undefined;
  /** Where a proxied answer is written to. */
  sink(): AnswerSink;
  /** Closes the connection. */
  destroy(): void;
}

/** The status that observations have for a client that left before its answer was complete. */
export const clientLeftStatus = 499;
