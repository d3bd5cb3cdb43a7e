import type { RequestListener } from 'node:http';
import type { AmqpService } from '../amqp/amqp-service.js';
import type { Entities, RuleDefinition, SubscriptionDefinition, TopicDefinition } from '../entities/entities.js';
import { WorkNotes, type WorkSource } from '../notifications/work-notes.js';
import { AdminEndpoint } from './admin/admin-endpoint.js';
import { subscriptionPath } from './broker/address.js';
import { Broker } from './broker/broker.js';
import { BrokerError } from './broker/broker-error.js';
import type { EntityRequest } from './broker/entity-table.js';
import type { MessageContent } from './broker/message.js';
import type { MessageQueue } from './broker/message-queue.js';
import { DeadlineTimer } from './deadline-timer.js';
import type { RuleOptions } from './filters/rule.js';
import type { SqlValue } from './filters/sql-values.js';
import { JournaledLog } from './persistence/journaled-log.js';
import { ServiceBusConsole } from './service-bus-console.js';
import { ServiceBusWork } from './service-bus-work.js';
import { decodeContent, EncodedContent } from './wire/encoded-content.js';
import { ServiceBusLinks } from './wire/service-bus-links.js';

export interface ServiceBusOptions {
  /** Entities that exist from the start. */
  readonly entities?: Pick<Entities, 'queues' | 'topics'>;
  /** Default true. False: an unknown address is refused, as in Azure. */
  readonly createOnFirstUse?: boolean;
  /** Directory of the journal. Without it everything is in memory. */
  readonly directory?: string;
  /** Memory that all messages may occupy; senders beyond it get `QuotaExceeded`. Default 512 MiB. */
  readonly maxBytes?: number;
  readonly now?: () => number;
}

export interface ServiceBus {
  /** To register with an AmqpServer, behind Event Hubs, which claims fewer addresses. */
  readonly service: AmqpService;
  /** The REST API of `ServiceBusAdministrationClient`, for the same port. */
  readonly admin: RequestListener;
  /** For clients that wait for work without a receiver. */
  readonly work: { readonly source: WorkSource; readonly notes: WorkNotes };
  readonly console: ServiceBusConsole;
  /** Creates entities after the start; those that exist get the options that are declared, and keep the others. Resolves when that is durable. */
  declare(entities: Pick<Entities, 'queues' | 'topics'>): Promise<void>;
  /** Stops timers; resolves when everything accepted is durable. Stop the server first. */
  stop(): Promise<void>;
}

const defaultMaxBytes = 512 * 1024 * 1024;

/** Starts the Service Bus emulator: restores what the journal has, then creates the entities that are declared. */
export async function startServiceBus(options: ServiceBusOptions = {}): Promise<ServiceBus> {
  const now = options.now ?? Date.now;
  const createOnFirstUse = options.createOnFirstUse ?? true;
  const log = new JournaledLog({ encode: encodeContent, decode: decodeContent });
  const dispatcher = new Dispatcher();
  const timer = new DeadlineTimer(now);
  const notes = new WorkNotes();
  const onAvailable = (queue: MessageQueue): void => {
    dispatcher.note(queue); // first: receivers that wait get it, and it is no work for others then
    notes.note(queue.path);
  };
  const broker = new Broker(
    { maxBytes: options.maxBytes ?? defaultMaxBytes, createOnFirstUse },
    { log, onAvailable, onDeadline: (atMs) => timer.note(atMs) },
  );
  const durability = { ensureWritable: () => log.ensureWritable(), durable: () => log.durable() };
  const links = new ServiceBusLinks({ broker, now, createOnFirstUse, ...durability });
  dispatcher.start((queue) => links.dispatch(queue));
  timer.start(() => broker.advance(now(), links));
  if (options.directory !== undefined) await log.open(options.directory, broker, now());
  declareEntities(broker, options.entities, now());
  const admin = new AdminEndpoint({
    broker,
    now,
    ...durability,
    onDeleted: (entities) => links.closeEntities(entities),
  });
  return {
    service: links,
    admin: (request, response) => admin.handle(request, response),
    work: { source: new ServiceBusWork(broker, now), notes },
    console: new ServiceBusConsole({ broker, now, ...durability }),
    declare: async (entities) => {
      declareEntities(broker, entities, now());
      await log.durable();
    },
    stop: async () => {
      timer.stop();
      await log.close();
    },
  };
}

/** Collects the queues that changed in one turn of the event loop and has them dispatched once, after the change is complete. */
class Dispatcher {
  readonly #changed = new Set<MessageQueue>();
  #dispatch: (queue: MessageQueue) => void = () => undefined;

  start(dispatch: (queue: MessageQueue) => void): void {
    this.#dispatch = dispatch;
  }

  note(queue: MessageQueue): void {
    if (this.#changed.size === 0) queueMicrotask(() => this.#run());
    this.#changed.add(queue);
  }

  #run(): void {
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const queue of changed) this.#dispatch(queue);
  }
}

function encodeContent(content: MessageContent): Buffer {
  if (content instanceof EncodedContent) return content.encode();
  throw new TypeError('The message content is not encoded AMQP.');
}

function declareEntities(broker: Broker, entities: ServiceBusOptions['entities'], nowMs: number): void {
  for (const { name, ...options } of entities?.queues ?? [])
    declare(broker, { kind: 'queue', path: name, options }, nowMs);
  for (const topic of entities?.topics ?? []) declareTopic(broker, topic, nowMs);
}

function declareTopic(broker: Broker, { name, subscriptions, ...options }: TopicDefinition, nowMs: number): void {
  declare(broker, { kind: 'topic', path: name, options }, nowMs);
  for (const subscription of subscriptions) declare(broker, subscriptionRequest(name, subscription), nowMs);
}

function subscriptionRequest(topic: string, { name, rules, ...options }: SubscriptionDefinition): EntityRequest {
  const request = { kind: 'subscription', path: subscriptionPath(topic, name), options } as const;
  return rules.length === 0 ? request : { ...request, rules: rules.map(ruleOptions) };
}

/** Creates an entity, or gives one that exists, from the journal perhaps, the options that are declared. */
function declare(broker: Broker, request: EntityRequest, nowMs: number): void {
  const existing = broker.entities.get(request.path);
  if (existing === undefined) {
    broker.entities.create(request, nowMs);
    return;
  }
  if (existing.description.kind !== request.kind) {
    throw new BrokerError(
      'entity-exists',
      `'${request.path}' is declared as a ${request.kind}, but the stored data has a ${existing.description.kind} of that name. Rename one, or delete the data directory.`,
    );
  }
  // An entity that was made on first use gets its sessions if that is still possible.
  if (request.options.requiresSession === true) broker.resolve(request.path, 'receive-session', nowMs);
  if (Object.keys(request.options).length > 0) {
    broker.entities.update(existing, { ...existing.settings, ...request.options }, nowMs);
  }
  if (request.rules !== undefined) broker.entities.change(existing, { rules: request.rules }, nowMs);
}

function ruleOptions({ name, filter, action }: RuleDefinition): RuleOptions {
  const rule = { name, ...(action !== undefined && { action: { expression: action } }) };
  if (filter.kind !== 'correlation') return { ...rule, filter };
  const { properties, label, ...others } = filter.fields;
  const user: Record<string, SqlValue> = {};
  for (const [key, value] of Object.entries(properties ?? {})) {
    user[key] = typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
  }
  const system = { ...others, ...(label !== undefined && { subject: label }) };
  return { ...rule, filter: { kind: 'correlation', system, user } };
}
