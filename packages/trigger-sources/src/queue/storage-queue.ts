/** Opens queues of one account. Nothing is asked of the service before the first call on a queue. */
export interface QueueAccount {
  queue(name: string): StorageQueue;
}

/**
 * One queue that lends its messages: whoever receives one has it alone for a while, and gives it back by doing nothing.
 * Everything may fail, with what `failureOf` can read; nothing is tried again here.
 */
export interface StorageQueue {
  readonly name: string;
  /** The same text for the same queue, whoever opened it; no secret in it. */
  readonly address: string;
  receive(request: { readonly count: number; readonly leaseMs: number }, signal: AbortSignal): Promise<QueueMessage[]>;
  /** Nobody gets the message for that long from now, 0 gives it back; returns the receipt that counts from here on. */
  hide(handle: MessageHandle, forMs: number, signal: AbortSignal): Promise<MessageHandle>;
  remove(handle: MessageHandle, signal: AbortSignal): Promise<void>;
  send(text: string, options: { readonly keep: MessageLifetime }, signal: AbortSignal): Promise<void>;
  /** Fine if it exists. */
  create(signal: AbortSignal): Promise<void>;
  /** One that could be received now; undefined when there is none. */
  peek(signal: AbortSignal): Promise<{ readonly insertedOn: Date } | undefined>;
  /** All messages, those that nobody can receive at the moment included. */
  count(signal: AbortSignal): Promise<number>;
}

/** As long as the service keeps a message unasked (seven days), or until somebody takes it. */
export type MessageLifetime = 'by-default' | 'for-ever';

/** Names one message and the latest loan of it. */
export interface MessageHandle {
  readonly id: string;
  readonly popReceipt: string;
}

export interface QueueMessage extends MessageHandle {
  /** As it is on the wire: base64 or text. */
  readonly text: string;
  readonly dequeueCount: number;
  readonly insertedOn: Date;
  readonly expiresOn: Date;
  readonly nextVisibleOn: Date;
}

/** Longer than this the service hides no message. */
export const longestHideMs = 7 * 24 * 3_600_000;

/**
 * - queue-missing: there is no such queue (any more)
 * - message-gone: deleted or expired
 * - receipt-outdated: another one has it since
 * - denied: the key is wrong, or lacks a right
 * - throttled: too much is asked of the account
 * - refused: the request itself is at fault; the same one will never be taken
 * - unavailable: nobody answers, or with an error of their own
 */
export type QueueFailure =
  | 'queue-missing'
  | 'message-gone'
  | 'receipt-outdated'
  | 'denied'
  | 'throttled'
  | 'refused'
  | 'unavailable';

const failuresByCode: Readonly<Record<string, QueueFailure>> = {
  QueueNotFound: 'queue-missing',
  QueueDisabled: 'queue-missing',
  MessageNotFound: 'message-gone',
  PopReceiptMismatch: 'receipt-outdated',
  ServerBusy: 'throttled',
  // Deleted a moment ago: for half a minute nobody can make it anew.
  QueueBeingDeleted: 'unavailable',
};

/** Reads the error of a call: the service's own code where there is one, then the status. */
export function failureOf(error: unknown): QueueFailure {
  const { code, statusCode } = (typeof error === 'object' && error !== null ? error : {}) as Readonly<
    Record<'code' | 'statusCode', unknown>
  >; // absent ones read as undefined
  const known = typeof code === 'string' ? failuresByCode[code] : undefined;
  if (known) return known;
  if (typeof statusCode !== 'number') return 'unavailable';
  if (statusCode === 401 || statusCode === 403) return 'denied';
  if (statusCode === 429) return 'throttled';
  // 408: the service gave up waiting for the request. A 404 without a code comes from something in between.
  if (statusCode >= 400 && statusCode < 500 && statusCode !== 408 && statusCode !== 404) return 'refused';
  return 'unavailable';
}

/** True when trying the same again may help without anybody changing anything. */
export function mayPass(failure: QueueFailure): boolean {
  return failure === 'unavailable' || failure === 'throttled' || failure === 'denied';
}
