import { classifyStorageError, type StorageFailure } from '../storage/storage-failure.js';

/** The queues of one account. No request is sent before the first call on a queue. */
export interface QueueAccount {
  /** The setting with its connection, for error messages. */
  readonly setting: string;
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
  /** Whether the service is on this machine and takes requests one after the other: an emulator. */
  readonly isNear?: boolean;
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

/** The service counts whole seconds; a lease lasts at least one. */
export const wholeSeconds = (ms: number): number => Math.ceil(Math.min(ms, longestHideMs) / 1000);

/**
 * - queue-missing: the queue does not exist
 * - message-gone: the message was deleted or has expired
 * - receipt-outdated: another consumer has received the message since
 */
export type QueueFailure = StorageFailure | 'queue-missing' | 'message-gone' | 'receipt-outdated';

const failuresByCode: Readonly<Record<string, QueueFailure>> = {
  QueueNotFound: 'queue-missing',
  QueueDisabled: 'queue-missing',
  MessageNotFound: 'message-gone',
  PopReceiptMismatch: 'receipt-outdated',
  // For about half a minute after its deletion a queue cannot be created again.
  QueueBeingDeleted: 'unavailable',
};

export function failureOf(error: unknown): QueueFailure {
  return classifyStorageError(error, failuresByCode);
}

/** Whether a retry of the same request may succeed. */
export function mayPass(failure: QueueFailure): boolean {
  return failure === 'unavailable' || failure === 'throttled' || failure === 'denied';
}
