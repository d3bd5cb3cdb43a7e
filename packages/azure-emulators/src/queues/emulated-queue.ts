import { IndexedHeap } from './indexed-heap.js';

export interface AccessPolicy {
  readonly id: string;
  readonly start?: string;
  readonly expiry?: string;
  readonly permission?: string;
}

/** What is known of a message besides its place in a queue. Times are milliseconds since 1970. */
export interface MessageFields {
  readonly id: string;
  /** Order of arrival in its queue. */
  readonly sequence: number;
  readonly insertedAt: number;
  readonly expiresAt: number;
  /** As it is written in XML, entities included: requests bring it so, and responses need it so. */
  readonly xmlText: string;
  readonly visibleAt: number;
  readonly dequeueCount: number;
  /** Number of receives and updates. Part of the pop receipt, which makes the older ones invalid. */
  readonly version: number;
}

/** One message in a queue. A class: objects of another kind take three times the memory. */
export class StoredMessage implements MessageFields {
  readonly id: string;
  readonly sequence: number;
  readonly insertedAt: number;
  readonly expiresAt: number;
  xmlText: string;
  visibleAt: number;
  dequeueCount: number;
  version: number;
  isHidden = true;
  visibilityIndex = 0;
  expiryIndex = 0;

  constructor(fields: MessageFields) {
    this.id = fields.id;
    this.sequence = fields.sequence;
    this.insertedAt = fields.insertedAt;
    this.expiresAt = fields.expiresAt;
    this.xmlText = fields.xmlText;
    this.visibleAt = fields.visibleAt;
    this.dequeueCount = fields.dequeueCount;
    this.version = fields.version;
  }
}

/** Bytes that a message needs besides its text: 350 to 400 in RAM, measured with 1,000,000 messages of 10 characters. */
const messageOverheadBytes = 400;

export const messageBytes = (xmlText: string): number => messageOverheadBytes + xmlText.length;

/** A receipt is valid for one message and one of its versions; it survives a restart because both do. */
export const popReceiptOf = ({ sequence, version }: StoredMessage): string =>
  `${sequence.toString(36)}-${version.toString(36)}`;

/** Bytes of all messages of a service. */
export interface MemoryUse {
  bytes: number;
}

/**
 * The messages of one queue. Ready messages are ordered by the time at which they became visible, hidden ones by the time at which they will;
 * a third heap orders all by their expiry. So each operation costs O(log n) at any depth. Every reader calls `advance` first.
 */
export class EmulatedQueue {
  /** Short name of the queue in records of the journal. */
  readonly number: number;
  readonly account: string;
  readonly name: string;
  metadata: Readonly<Record<string, string>>;
  policies: readonly AccessPolicy[] = [];
  readonly #use: MemoryUse;
  readonly #messages = new Map<string, StoredMessage>();
  readonly #ready = new IndexedHeap(isVisibleEarlier, placeByVisibility);
  readonly #hidden = new IndexedHeap(isVisibleEarlier, placeByVisibility);
  readonly #byExpiry = new IndexedHeap<StoredMessage>(
    (a, b) => a.expiresAt < b.expiresAt,
    (message, index) => (message.expiryIndex = index),
  );
  #sequence = 0;
  #delayedCount = 0;

  constructor(queue: Pick<EmulatedQueue, 'number' | 'account' | 'name' | 'metadata'>, use: MemoryUse) {
    this.number = queue.number;
    this.account = queue.account;
    this.name = queue.name;
    this.metadata = queue.metadata;
    this.#use = use;
  }

  get count(): number {
    return this.#messages.size;
  }

  /** Messages that wait for a delay or for the settlement of a receiver. */
  get hiddenCount(): number {
    return this.#hidden.size;
  }

  /** Hidden messages that were not received yet. */
  get delayedCount(): number {
    return this.#delayedCount;
  }

  /** When the next hidden message becomes visible; undefined if none is hidden. */
  get nextVisibleAt(): number | undefined {
    return this.#hidden.first?.visibleAt;
  }

  get nextSequence(): number {
    return this.#sequence + 1;
  }

  find(id: string): StoredMessage | undefined {
    return this.#messages.get(id);
  }

  messages(): Iterable<StoredMessage> {
    return this.#messages.values();
  }

  add(message: MessageFields): StoredMessage {
    const stored = new StoredMessage(message);
    this.#sequence = Math.max(this.#sequence, stored.sequence);
    this.#messages.set(stored.id, stored);
    this.#addHidden(stored);
    this.#byExpiry.add(stored);
    this.#use.bytes += messageBytes(stored.xmlText);
    return stored;
  }

  /** Moves to `now`: removes messages that have expired, and makes those ready whose time has come. */
  advance(now: number): void {
    for (let first = this.#byExpiry.first; first && first.expiresAt <= now; first = this.#byExpiry.first) {
      this.remove(first);
    }
    for (let first = this.#hidden.first; first && first.visibleAt <= now; first = this.#hidden.first) {
      this.#unqueue(first);
      first.isHidden = false;
      this.#ready.add(first);
    }
  }

  /** The next ready messages in their order, at most `most`. */
  ready(most: number): StoredMessage[] {
    const found: StoredMessage[] = [];
    this.#ready.visit((message) => found.push(message) < most);
    return found;
  }

  /** Visits all messages in the order in which they are received, hidden ones last, until `visit` returns false. */
  visitAll(visit: (message: StoredMessage) => boolean): void {
    let goesOn = true;
    const each = (message: StoredMessage): boolean => (goesOn = visit(message));
    this.#ready.visit(each);
    if (goesOn) this.#hidden.visit(each);
  }

  /** Hides a message until this time. Its older pop receipts are invalid then. */
  hide(message: StoredMessage, visibleAt: number): void {
    this.#unqueue(message);
    message.visibleAt = visibleAt;
    message.version += 1;
    message.isHidden = true;
    this.#addHidden(message);
  }

  setText(message: StoredMessage, xmlText: string): void {
    this.#use.bytes += xmlText.length - message.xmlText.length;
    message.xmlText = xmlText;
  }

  remove(message: StoredMessage): void {
    this.#messages.delete(message.id);
    this.#unqueue(message);
    this.#byExpiry.remove(message.expiryIndex);
    this.#use.bytes -= messageBytes(message.xmlText);
  }

  clear(): void {
    for (const { xmlText } of this.#messages.values()) this.#use.bytes -= messageBytes(xmlText);
    this.#messages.clear();
    this.#ready.clear();
    this.#hidden.clear();
    this.#byExpiry.clear();
    this.#delayedCount = 0;
  }

  #addHidden(message: StoredMessage): void {
    this.#hidden.add(message);
    if (message.version === 0) this.#delayedCount += 1;
  }

  #unqueue(message: StoredMessage): void {
    if (message.isHidden && message.version === 0) this.#delayedCount -= 1;
    (message.isHidden ? this.#hidden : this.#ready).remove(message.visibilityIndex);
  }
}

function isVisibleEarlier(a: StoredMessage, b: StoredMessage): boolean {
  return a.visibleAt < b.visibleAt || (a.visibleAt === b.visibleAt && a.sequence < b.sequence);
}

function placeByVisibility(message: StoredMessage, index: number): void {
  message.visibilityIndex = index;
}
