import rhea from 'rhea';
import type { EntityConsole, EntityStatus, ShownMessage, TypedMessage } from '../entity-console.js';
import type { EventHub, Partition } from './event-hub.js';
import type { EventHubs } from './event-hubs.js';
import { LogReader } from './partition-log.js';

const maxShownBytes = 64 * 1024;

/** Shows event hubs to a developer: retained events by partition, sending and purging. Hubs have no dead letters. */
export class EventHubsConsole implements EntityConsole {
  readonly #hubs: EventHubs;

  constructor(hubs: EventHubs) {
    this.#hubs = hubs;
  }

  entities(): readonly EntityStatus[] {
    return [...this.#hubs.all].map((hub) => ({
      service: 'event-hubs',
      kind: 'event hub',
      name: hub.name,
      depth: hub.partitions.reduce((sum, { log }) => sum + log.eventCount, 0),
      inFlight: 0,
      scheduled: 0,
      deadLetters: 0,
    }));
  }

  async peek(
    entity: string,
    options: { readonly deadLetters: boolean; readonly after?: string; readonly max: number },
  ): Promise<readonly ShownMessage[]> {
    const hub = this.#hub(entity);
    const shown: ShownMessage[] = [];
    if (options.deadLetters) return shown;
    const [afterPartition = -1, afterSequence = -1] = (options.after ?? '').split('/').filter(Boolean).map(Number);
    for (const [index, partition] of hub.partitions.entries()) {
      if (index < afterPartition) continue;
      const start = index === afterPartition ? afterSequence + 1 : partition.log.beginSequence;
      const reader = new LogReader(partition.log, start);
      while (shown.length < options.max) {
        const event = reader.next();
        if (!event) break;
        shown.push(showEvent(partition, event));
      }
    }
    return shown;
  }

  async send(entity: string, message: TypedMessage): Promise<void> {
    const payload = rhea.message.encode({
      content_type: message.contentType,
      application_properties: message.properties,
      message_annotations: message.partitionKey === undefined ? {} : { 'x-opt-partition-key': message.partitionKey },
      body: rhea.message.data_section(Buffer.from(message.body)),
    });
    const result = await this.#hubs.publish(this.#hub(entity), undefined, { payload, format: 0 }, undefined);
    if (result) throw new Error(result.description);
  }

  requeue(entity: string): Promise<number> {
    this.#hub(entity);
    return Promise.resolve(0);
  }

  async purge(entity: string, options: { readonly deadLetters: boolean }): Promise<number> {
    const hub = this.#hub(entity);
    return options.deadLetters ? 0 : this.#hubs.purge(hub);
  }

  #hub(name: string): EventHub {
    const hub = this.#hubs.has(name) ? this.#hubs.find(name) : undefined;
    if (!hub) throw new Error(`There is no event hub '${name}'.`);
    return hub;
  }
}

interface DecodedEvent {
  readonly message_annotations?: Record<string, unknown>;
  readonly application_properties?: Record<string, unknown>;
  readonly content_type?: string;
  readonly message_id?: unknown;
  readonly body?: unknown;
}

function showEvent(partition: Partition, encoded: Buffer): ShownMessage {
  const event = rhea.message.decode(encoded) as DecodedEvent;
  const {
    'x-opt-sequence-number': sequence,
    'x-opt-enqueued-time': enqueued,
    'x-opt-partition-key': key,
  } = event.message_annotations ?? {};
  const text = bodyText(event.body);
  const properties: Record<string, unknown> = {
    partition: partition.id,
    ...(key !== undefined && { 'partition key': key }),
    ...(event.content_type !== undefined && { 'content type': event.content_type }),
    ...(event.message_id !== undefined && { 'message id': event.message_id }),
    ...event.application_properties,
  };
  return {
    id: `${partition.id}/${String(sequence)}`,
    state: 'active',
    enqueuedMs: enqueued instanceof Date ? enqueued.getTime() : 0,
    deliveryCount: 0,
    body: text.slice(0, maxShownBytes),
    isCut: text.length > maxShownBytes,
    properties: Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, String(value)])),
  };
}

function bodyText(body: unknown): string {
  const content = typeof body === 'object' && body !== null && 'content' in body ? body.content : body;
  if (Buffer.isBuffer(content)) return content.toString('utf8');
  return typeof content === 'string' ? content : (JSON.stringify(content) ?? '');
}
