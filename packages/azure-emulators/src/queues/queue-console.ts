import type { EntityConsole, EntityStatus, ShownMessage, TypedMessage } from '../entity-console.js';
import { maxTextBytes, neverExpires } from './message-operations.js';
import type { StorageQueueStore } from './storage-queue-store.js';
import { messageTooLarge } from './storage-error.js';
import type { StoredMessage, EmulatedQueue } from './emulated-queue.js';
import { escapeXml, unescapeXml } from '../xml/xml.js';

const poisonSuffix = '-poison';
const mostShownCharacters = 8_192;

/** The queues of one account for a developer. The dead letters of a queue are the messages of its poison queue. */
export class QueueConsole implements EntityConsole {
  readonly #store: StorageQueueStore;
  readonly #account: string;

  constructor(store: StorageQueueStore, account: string) {
    this.#store = store;
    this.#account = account;
  }

  entities(): readonly EntityStatus[] {
    return this.#store.queuesOf(this.#account).map(({ name }) => {
      const queue = this.#queue(name);
      return {
        service: 'queues',
        kind: 'queue',
        name,
        depth: queue.count - queue.hiddenCount,
        inFlight: queue.hiddenCount - queue.delayedCount,
        scheduled: queue.delayedCount,
        deadLetters: this.#find(poisonOf(name))?.count ?? 0,
      };
    });
  }

  async peek(
    entity: string,
    { deadLetters, after, max }: { readonly deadLetters: boolean; readonly after?: string; readonly max: number },
  ): Promise<readonly ShownMessage[]> {
    const queue = deadLetters ? this.#find(poisonOf(entity)) : this.#queue(entity);
    const shown: ShownMessage[] = [];
    let isBehind = after === undefined;
    queue?.visitAll((message) => {
      if (isBehind) shown.push(show(message, deadLetters));
      else isBehind = message.id === after;
      return shown.length < max;
    });
    return shown;
  }

  /** Sends base64, as Azure Functions expect it by default; the property `encoding` with the value `none` sends the text as it is. */
  async send(entity: string, { body, properties }: TypedMessage): Promise<void> {
    const text = properties?.['encoding'] === 'none' ? body : Buffer.from(body).toString('base64');
    if (Buffer.byteLength(text) > maxTextBytes) throw messageTooLarge(maxTextBytes);
    const message = { xmlText: escapeXml(text), hiddenMs: 0, expiresAt: neverExpires };
    await this.#store.put(this.#queue(entity), message).durable;
  }

  async requeue(entity: string): Promise<number> {
    const poison = this.#find(poisonOf(entity));
    if (!poison) return 0;
    const { value, durable } = this.#store.move(poison, this.#queue(entity), neverExpires);
    await durable;
    return value;
  }

  async purge(entity: string, { deadLetters }: { readonly deadLetters: boolean }): Promise<number> {
    const queue = deadLetters ? this.#find(poisonOf(entity)) : this.#queue(entity);
    if (!queue) return 0;
    const { value, durable } = this.#store.purge(queue);
    await durable;
    return value;
  }

  #find(name: string): EmulatedQueue | undefined {
    return this.#store.findQueue(this.#account, name);
  }

  #queue(name: string): EmulatedQueue {
    const queue = this.#find(name);
    if (!queue)
      throw new Error(`The queue ${name} does not exist. Create it with a client, or name it in the entities file.`);
    return queue;
  }
}

const poisonOf = (name: string): string => `${name}${poisonSuffix}`;

function show(message: StoredMessage, isDeadLetter: boolean): ShownMessage {
  const text = unescapeXml(message.xmlText);
  const decoded = textOfBase64(text);
  const body = decoded ?? text;
  return {
    id: message.id,
    state: message.isHidden
      ? message.version === 0
        ? 'scheduled'
        : 'locked'
      : isDeadLetter
        ? 'dead letter'
        : 'active',
    enqueuedMs: message.insertedAt,
    deliveryCount: message.dequeueCount,
    body: body.slice(0, mostShownCharacters),
    isCut: body.length > mostShownCharacters,
    properties: {
      encoding: decoded === undefined ? 'none' : 'base64',
      expires: new Date(message.expiresAt).toISOString(),
      ...(message.isHidden && { visible: new Date(message.visibleAt).toISOString() }),
    },
  };
}

const strict = new TextDecoder('utf-8', { fatal: true });

/** Returns the text inside if this is base64 of printable text. */
function textOfBase64(text: string): string | undefined {
  if (text.length === 0 || text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  try {
    const decoded = strict.decode(Buffer.from(text, 'base64'));
    // Control characters other than white space: bytes, not text.
    // oxlint-disable-next-line no-control-regex
    return /[\u0000-\u0008\u000e-\u001f]/.test(decoded) ? undefined : decoded;
  } catch {
    return undefined;
  }
}
