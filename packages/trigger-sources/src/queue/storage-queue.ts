/** The queues of one account. No request is sent before the first call on a queue. */
export interface QueueAccount {
  queue(name: string): StorageQueue;
}

/**
 * One queue with leased messages: a received message is hidden from other consumers until its lease expires. Every method may
 * reject with an error that `failureOf` classifies; none retries.
 */
export interface StorageQueue {
  readonly name: string;
  /** Identifies the queue across accounts objects. Holds no secret. */
  readonly address: string;
  receive(request: { readonly count: number; readonly leaseMs: number }, signal: AbortSignal): Promise<QueueMessage[]>;
  /** Hides the message for a duration from now; 0 makes it visible. Resolves with the handle of the new receipt. */
  hide(handle: MessageHandle, forMs: number, signal: AbortSignal): Promise<MessageHandle>;
  remove(handle: MessageHandle, signal: AbortSignal): Promise<void>;
  send(text: string, options: { readonly keep: MessageLifetime }, signal: AbortSignal): Promise<void>;
  /** Succeeds if the queue exists. */
  create(signal: AbortSignal): Promise<void>;
  /** Resolves with a visible message, or undefined. */
  peek(signal: AbortSignal): Promise<{ readonly insertedOn: Date } | undefined>;
  /** Counts all messages, hidden ones included. */
  count(signal: AbortSignal): Promise<number>;
}

/** `by-default`: seven days, the default of the service. */
export type MessageLifetime = 'by-default' | 'for-ever';

/** Identifies a message and its latest lease. */
export interface MessageHandle {
  readonly id: string;
  readonly popReceipt: string;
}

export interface QueueMessage extends MessageHandle {
  /** The text on the wire: base64 or plain. */
  readonly text: string;
  readonly dequeueCount: number;
  readonly insertedOn: Date;
  readonly expiresOn: Date;
  readonly nextVisibleOn: Date;
}

/** Limit of the service for hiding a message. */
export const longestHideMs = 7 * 24 * 3_600_000;

/**
 * - queue-missing: the queue does not exist
 * - message-gone: the message was deleted or has expired
 * - receipt-outdated: another consumer has received the message since
 * - denied: the key is wrong or lacks a permission
 * - throttled: the account limits the request rate
 * - refused: the request is invalid; a retry cannot succeed
 * - unavailable: no response, or an error of the service
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
  // For about half a minute after its deletion a queue cannot be created again.
  QueueBeingDeleted: 'unavailable',
};

/** Classifies the error of a call by the code of the service, else by the HTTP status. */
export function failureOf(error: unknown): QueueFailure {
  const { code, statusCode } = (typeof error === 'object' && error !== null ? error : {}) as Readonly<
    Record<'code' | 'statusCode', unknown>
  >; // absent ones read as undefined
  const known = typeof code === 'string' ? failuresByCode[code] : undefined;
  if (known) return known;
  if (typeof statusCode !== 'number') return 'unavailable';
  if (statusCode === 401 || statusCode === 403) return 'denied';
  if (statusCode === 429) return 'throttled';
  // 408: the service timed out reading the request. A 404 without a code comes from a proxy in between.
  if (statusCode >= 400 && statusCode < 500 && statusCode !== 408 && statusCode !== 404) return 'refused';
  return 'unavailable';
}

/** Whether a retry of the same request may succeed. */
export function mayPass(failure: QueueFailure): boolean {
  return failure === 'unavailable' || failure === 'throttled' || failure === 'denied';
}
