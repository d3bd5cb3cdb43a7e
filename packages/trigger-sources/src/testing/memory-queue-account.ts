import type { Clock } from '@drover/service-kit';
import type { QueueAccount, QueueMessage, StorageQueue } from '../queue/storage-queue.js';

export type QueueOperation = 'receive' | 'hide' | 'remove' | 'send' | 'create' | 'peek' | 'count';

interface Stored {
  readonly id: string;
  readonly text: string;
  readonly insertedOn: Date;
  readonly expiresOn: Date;
  popReceipt: string;
  dequeueCount: number;
  visibleAt: number;
}

const sevenDaysMs = 7 * 24 * 3_600_000;

/** Creates an error with the code and status of the service. */
export function serviceError(code: string, statusCode: number): Error {
  return Object.assign(new Error(`${code} (${statusCode})`), { code, statusCode });
}

/** Storage queues in memory with the visibility and receipt rules of the service, on any clock. */
export class MemoryQueueAccount implements QueueAccount {
  readonly setting = 'AzureWebJobsStorage';
  readonly #clock: Clock;
  readonly #queues = new Map<string, Stored[]>();
  #sequence = 0;

  /** Called before each operation. May throw an error of the service, delay it, or never resolve. */
  intercept: (operation: QueueOperation, queue: string) => void | Promise<void> = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  create(...names: readonly string[]): this {
    for (const name of names) if (!this.#queues.has(name)) this.#queues.set(name, []);
    return this;
  }

  delete(name: string): void {
    this.#queues.delete(name);
  }

  exists(name: string): boolean {
    return this.#queues.has(name);
  }

  /** All messages, leased ones included, with their text on the wire. */
  messages(name: string): readonly Readonly<Stored>[] {
    const now = this.#clock.now();
    return (this.#queues.get(name) ?? []).filter((stored) => stored.expiresOn.getTime() > now);
  }

  queue(name: string): StorageQueue {
    const call = async <T>(operation: QueueOperation, signal: AbortSignal, act: () => T): Promise<T> => {
      await orAborted(this.intercept(operation, name), signal);
      return act();
    };
    return {
      name,
      address: `memory/${name}`,
      receive: ({ count, leaseMs }, signal) =>
        call('receive', signal, () =>
          this.#visible(name)
            .slice(0, count)
            .map((stored) => this.#lend(stored, leaseMs)),
        ),
      hide: ({ id, popReceipt }, forMs, signal) =>
        call('hide', signal, () => {
          const stored = this.#held(name, id, popReceipt);
          stored.visibleAt = this.#clock.now() + forMs;
          stored.popReceipt = this.#next('receipt');
          return { id, popReceipt: stored.popReceipt };
        }),
      remove: ({ id, popReceipt }, signal) =>
        call('remove', signal, () => {
          const messages = this.#existing(name);
          messages.splice(messages.indexOf(this.#held(name, id, popReceipt)), 1);
        }),
      send: (text, { keep }, signal) => call('send', signal, () => this.#add(name, text, keep === 'for-ever')),
      create: (signal) => call('create', signal, () => void this.create(name)),
      peek: (signal) => call('peek', signal, () => this.#visible(name)[0]),
      count: (signal) => call('count', signal, () => this.#existing(name).length && this.messages(name).length),
    };
  }

  #existing(name: string): Stored[] {
    const messages = this.#queues.get(name);
    if (!messages) throw serviceError('QueueNotFound', 404);
    return messages;
  }

  #visible(name: string): Stored[] {
    const now = this.#clock.now();
    return this.#existing(name)
      .filter((stored) => stored.visibleAt <= now && stored.expiresOn.getTime() > now)
      .toSorted((a, b) => a.visibleAt - b.visibleAt);
  }

  #held(name: string, id: string, popReceipt: string): Stored {
    const stored = this.#existing(name).find((message) => message.id === id);
    if (!stored) throw serviceError('MessageNotFound', 404);
    if (stored.popReceipt !== popReceipt) throw serviceError('PopReceiptMismatch', 400);
    return stored;
  }

  #lend(stored: Stored, leaseMs: number): QueueMessage {
    stored.dequeueCount += 1;
    stored.visibleAt = this.#clock.now() + leaseMs;
    stored.popReceipt = this.#next('receipt');
    const { visibleAt, ...message } = stored;
    return { ...message, nextVisibleOn: new Date(visibleAt) };
  }

  #add(name: string, text: string, forEver: boolean): void {
    const now = this.#clock.now();
    this.#existing(name).push({
      id: this.#next('message'),
      text,
      insertedOn: new Date(now),
      expiresOn: forEver ? new Date(Date.UTC(9999, 11, 31)) : new Date(now + sevenDaysMs),
      popReceipt: '',
      dequeueCount: 0,
      visibleAt: now,
    });
  }

  #next(what: string): string {
    this.#sequence += 1;
    return `${what}-${this.#sequence}`;
  }
}

/** Rejects as soon as the signal aborts, as a connection would. */
async function orAborted(work: void | Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let rejectAborted: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    rejectAborted = () => reject(signal.reason);
  });
  signal.addEventListener('abort', rejectAborted, { once: true });
  try {
    await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', rejectAborted);
  }
}
