import { FileJournal } from '../journal/file-journal.js';
import { newMessageId } from './message-id.js';
import { decodeChange, encodeChange, type QueueChange } from './queue-records.js';
import {
  memoryLimitReached,
  queueMessageNotFound,
  popReceiptMismatch,
  queueAlreadyExists,
  queueNotFound,
} from './storage-error.js';
import {
  messageBytes,
  popReceiptOf,
  EmulatedQueue,
  type AccessPolicy,
  type MemoryUse,
  type StoredMessage,
} from './emulated-queue.js';

export interface StorageQueueStoreOptions {
  /** Bound of all messages in memory. */
  readonly maxBytes: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called with `account/queue` after each change of its messages. */
  readonly onChanged?: (queue: string) => void;
}

interface NewMessage {
  readonly xmlText: string;
  readonly hiddenMs: number;
  readonly expiresAt: number;
}

/** What a change leads to, and a promise that resolves when it is durable: undefined without a journal. */
export interface Changed<T> {
  readonly value: T;
  readonly durable: Promise<void> | undefined;
}

/**
 * All queues of all accounts. Every operation is one synchronous step; a change is acknowledged to its client when `durable` resolves.
 * Throws `StorageError`, or `JournalError` while the disk refuses writes.
 */
export class StorageQueueStore {
  readonly #options: StorageQueueStoreOptions;
  readonly #use: MemoryUse = { bytes: 0 };
  readonly #queues = new Map<string, EmulatedQueue>();
  readonly #byNumber = new Map<number, EmulatedQueue>();
  readonly #properties = new Map<string, Readonly<Record<string, string>>>();
  #journal: FileJournal | undefined;
  #lastNumber = 0;

  constructor(options: StorageQueueStoreOptions) {
    this.#options = options;
  }

  /** Loads what is in the directory, and makes all later changes durable there. */
  async openJournal(directory: string, warn: (sentence: string) => void): Promise<void> {
    this.#journal = await FileJournal.open({
      directory,
      warn,
      replay: (record) => this.#apply(decodeChange(record)),
      snapshot: () => this.#snapshot(),
    });
  }

  async close(): Promise<void> {
    await this.#journal?.close();
  }

  get bytes(): number {
    return this.#use.bytes;
  }

  /** The queues of an account, by name. */
  queuesOf(account: string): EmulatedQueue[] {
    return [...this.#queues.values()]
      .filter((queue) => queue.account === account)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  findQueue(account: string, name: string): EmulatedQueue | undefined {
    const queue = this.#queues.get(keyOf(account, name));
    queue?.advance(this.#options.now());
    return queue;
  }

  /** Returns a queue as it is now: without expired messages. Throws QueueNotFound. */
  queue(account: string, name: string): EmulatedQueue {
    const queue = this.findQueue(account, name);
    if (!queue) throw queueNotFound();
    return queue;
  }

  /** Value: whether the queue is new. A queue with the same metadata is no conflict. */
  create(account: string, name: string, metadata: Readonly<Record<string, string>>): Changed<boolean> {
    const existing = this.#queues.get(keyOf(account, name));
    if (existing && !isSameMetadata(existing.metadata, metadata)) throw queueAlreadyExists();
    if (existing) return { value: false, durable: undefined };
    const queue = { number: this.#lastNumber + 1, account, name, metadata, policies: [] };
    return this.#change({ kind: 'queue', queue }, true);
  }

  deleteQueue(queue: EmulatedQueue): Changed<void> {
    return this.#change({ kind: 'queue-deleted', number: queue.number }, undefined);
  }

  setMetadata(queue: EmulatedQueue, metadata: Readonly<Record<string, string>>): Changed<void> {
    return this.#change({ kind: 'queue', queue: { ...described(queue), metadata } }, undefined);
  }

  setPolicies(queue: EmulatedQueue, policies: readonly AccessPolicy[]): Changed<void> {
    return this.#change({ kind: 'queue', queue: { ...described(queue), policies } }, undefined);
  }

  properties(account: string): Readonly<Record<string, string>> {
    return this.#properties.get(account) ?? {};
  }

  /** Replaces the given sections of the service properties, each an XML element. */
  setProperties(account: string, sections: Readonly<Record<string, string>>): Changed<void> {
    const merged = { ...this.properties(account), ...sections };
    return this.#change({ kind: 'properties', account, sections: merged }, undefined);
  }

  put(queue: EmulatedQueue, message: NewMessage): Changed<StoredMessage> {
    const needed = this.#use.bytes + messageBytes(message.xmlText);
    if (needed > this.#options.maxBytes) throw memoryLimitReached(this.#options.maxBytes);
    return this.#add(queue, message);
  }

  #add(queue: EmulatedQueue, { xmlText, hiddenMs, expiresAt }: NewMessage): Changed<StoredMessage> {
    const now = this.#options.now();
    const message = {
      id: newMessageId(),
      sequence: queue.nextSequence,
      insertedAt: now,
      expiresAt,
      xmlText,
      visibleAt: now + hiddenMs,
      dequeueCount: 0,
      version: 0,
    };
    const { durable } = this.#change({ kind: 'message', number: queue.number, message }, undefined);
    return { value: stored(queue, message.id), durable };
  }

  /** Hides the next ready messages for this long and returns them. */
  receive(queue: EmulatedQueue, most: number, hiddenMs: number): Changed<readonly StoredMessage[]> {
    const messages = queue.ready(most);
    if (messages.length === 0) return { value: messages, durable: undefined };
    const visibleAt = this.#options.now() + hiddenMs;
    const ids = messages.map(({ id }) => id);
    return this.#change({ kind: 'received', number: queue.number, visibleAt, ids }, messages);
  }

  update(
    queue: EmulatedQueue,
    change: {
      readonly id: string;
      readonly popReceipt: string;
      readonly hiddenMs: number;
      readonly xmlText: string | undefined;
    },
  ): Changed<StoredMessage> {
    const message = held(queue, change);
    const grows = (change.xmlText?.length ?? 0) - message.xmlText.length;
    if (grows > 0 && this.#use.bytes + grows > this.#options.maxBytes) throw memoryLimitReached(this.#options.maxBytes);
    const { id, xmlText, hiddenMs } = change;
    const visibleAt = this.#options.now() + hiddenMs;
    return this.#change({ kind: 'updated', number: queue.number, id, visibleAt, xmlText }, message);
  }

  delete(queue: EmulatedQueue, handle: { readonly id: string; readonly popReceipt: string }): Changed<void> {
    const { id } = held(queue, handle);
    return this.#change({ kind: 'deleted', number: queue.number, id }, undefined);
  }

  clear(queue: EmulatedQueue): Changed<void> {
    return this.#change({ kind: 'cleared', number: queue.number }, undefined);
  }

  /** Removes all messages that no receiver has. Value: their number. */
  purge(queue: EmulatedQueue): Changed<number> {
    const messages = free(queue);
    if (messages.length === queue.count) return { ...this.clear(queue), value: messages.length };
    let durable: Promise<void> | undefined;
    for (const { id } of messages) {
      ({ durable } = this.#change({ kind: 'deleted', number: queue.number, id }, undefined));
    }
    return { value: messages.length, durable };
  }

  /** Moves all messages that no receiver has to the end of another queue, as new messages. All or none of them survive a crash there. */
  move(from: EmulatedQueue, to: EmulatedQueue, expiresAt: number): Changed<number> {
    const messages = free(from);
    let durable: Promise<void> | undefined;
    for (const { id, xmlText } of messages) {
      ({ durable } = this.#add(to, { xmlText, hiddenMs: 0, expiresAt }));
      this.#change({ kind: 'deleted', number: from.number, id }, undefined);
    }
    return { value: messages.length, durable };
  }

  #change<T>(change: QueueChange, value: T): Changed<T> {
    this.#journal?.ensureWritable();
    this.#apply(change);
    if ('number' in change) this.#noteChanged(change.number);
    return { value, durable: this.#journal?.append(encodeChange(change)) };
  }

  #noteChanged(number: number): void {
    const queue = this.#byNumber.get(number);
    if (queue) this.#options.onChanged?.(keyOf(queue.account, queue.name));
  }

  #apply(change: QueueChange): void {
    if (change.kind === 'queue') return this.#applyQueue(change.queue);
    if (change.kind === 'properties') return void this.#properties.set(change.account, change.sections);
    const queue = this.#byNumber.get(change.number);
    if (!queue) throw new Error(`The journal names queue ${change.number}, which it has not created.`);
    switch (change.kind) {
      case 'queue-deleted':
        queue.clear();
        this.#byNumber.delete(queue.number);
        this.#queues.delete(keyOf(queue.account, queue.name));
        return;
      case 'message':
        queue.add(change.message);
        return;
      case 'received':
        for (const id of change.ids) {
          const message = stored(queue, id);
          queue.hide(message, change.visibleAt);
          message.dequeueCount += 1;
        }
        return;
      case 'updated': {
        const message = stored(queue, change.id);
        queue.hide(message, change.visibleAt);
        if (change.xmlText !== undefined) queue.setText(message, change.xmlText);
        return;
      }
      case 'deleted':
        queue.remove(stored(queue, change.id));
        return;
      case 'cleared':
        queue.clear();
    }
  }

  #applyQueue({ policies, ...described }: (QueueChange & { readonly kind: 'queue' })['queue']): void {
    const existing = this.#byNumber.get(described.number);
    const queue = existing ?? new EmulatedQueue(described, this.#use);
    queue.metadata = described.metadata;
    queue.policies = policies;
    this.#byNumber.set(queue.number, queue);
    this.#queues.set(keyOf(queue.account, queue.name), queue);
    this.#lastNumber = Math.max(this.#lastNumber, queue.number);
  }

  *#snapshot() {
    for (const [account, sections] of this.#properties) yield encodeChange({ kind: 'properties', account, sections });
    const now = this.#options.now();
    for (const queue of this.#byNumber.values()) {
      queue.advance(now);
      yield encodeChange({ kind: 'queue', queue: described(queue) });
      for (const message of queue.messages()) yield encodeChange({ kind: 'message', number: queue.number, message });
    }
  }
}

const keyOf = (account: string, name: string): string => `${account}/${name}`;

const described = ({ number, account, name, metadata, policies }: EmulatedQueue) => ({
  number,
  account,
  name,
  metadata,
  policies,
});

/** A message that was found a step before. */
function stored(queue: EmulatedQueue, id: string): StoredMessage {
  const message = queue.find(id);
  if (!message) throw new Error(`Queue ${queue.name} has no message ${id}, which its journal names.`);
  return message;
}

/** The message that this receipt was given for. Throws MessageNotFound or PopReceiptMismatch. */
function held(
  queue: EmulatedQueue,
  { id, popReceipt }: { readonly id: string; readonly popReceipt: string },
): StoredMessage {
  const message = queue.find(id);
  if (!message) throw queueMessageNotFound();
  if (popReceiptOf(message) !== popReceipt) throw popReceiptMismatch();
  return message;
}

/** Messages that are not with a receiver. */
const free = (queue: EmulatedQueue): StoredMessage[] =>
  [...queue.messages()].filter(({ isHidden, version }) => !isHidden || version === 0);

/** Names of metadata are headers: their case does not matter. */
function isSameMetadata(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const normal = (metadata: Readonly<Record<string, string>>): string =>
    JSON.stringify(
      Object.entries(metadata)
        .map(([name, value]) => [name.toLowerCase(), value])
        .toSorted(([x = ''], [y = '']) => (x < y ? -1 : 1)),
    );
  return normal(a) === normal(b);
}
