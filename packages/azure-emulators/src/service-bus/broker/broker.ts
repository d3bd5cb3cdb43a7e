import { randomBytes } from 'node:crypto';
import { parseAddress, type EntityAddress } from './address.js';
import { BrokerError } from './broker-error.js';
import type { BrokerLog } from './broker-log.js';
import type { Entity } from './entity.js';
import { EntityTable } from './entity-table.js';
import { MemoryBudget } from './memory-budget.js';
import { messageCost, type BrokerMessage, type MessageContent } from './message.js';
import type { MessageQueue } from './message-queue.js';
import { SqlError } from '../filters/sql-values.js';

export interface BrokerOptions {
  /** Memory that all messages may occupy. Senders beyond it are refused with `quota-exceeded`. */
  readonly maxBytes: number;
  /** Entities that are not there are made when a client first uses them. */
  readonly createOnFirstUse: boolean;
}

export interface BrokerParts {
  readonly log: BrokerLog;
  /** A queue may have a message or a session for a receiver. Called inside a change: act later. */
  readonly onAvailable: (queue: MessageQueue) => void;
  /** Call `advance` at this time. */
  readonly onDeadline: (atMs: number) => void;
}

/** The clients of entities. */
export interface AttachedClients {
  /** An entity with clients is not idle. */
  isAttached(entity: Entity): boolean;
  /** Entities were deleted because they were idle. */
  closeEntities(entities: readonly Entity[]): void;
}

/** How a client uses an address; it decides what an entity made on first use becomes. */
export type EntityUse = 'send' | 'receive' | 'receive-session' | 'manage';

const maxForwards = 4;
/** A client with a defect must not fill the memory with names. */
const maxImplicitEntities = 10_000;
const bytesPerMegabyte = 1024 * 1024;

/**
 * The namespace: routes what is sent to queues and through topics to subscriptions, and resolves addresses.
 * Pure: no timers, no sockets. Time is an argument, durability is the log's business.
 */
export class Broker {
  readonly entities: EntityTable;
  readonly #budget: MemoryBudget;
  readonly #createOnFirstUse: boolean;
  readonly #log: BrokerLog;

  constructor(options: BrokerOptions, parts: BrokerParts) {
    this.#createOnFirstUse = options.createOnFirstUse;
    this.#log = parts.log;
    this.#budget = new MemoryBudget(options.maxBytes);
    this.entities = new EntityTable({
      ...parts,
      budget: this.#budget,
      nextLockToken: lockTokens(),
      deadLetter: (entity, content, message, nowMs) => this.#deadLetter(entity, content, message, nowMs),
      activate: (entity, content, nowMs) => this.#deliver(entity, content, nowMs, 0),
    });
  }

  get usedBytes(): number {
    return this.#budget.usedBytes;
  }

  /** Finds the entity of an address and makes it if that is allowed. Throws `entity-not-found`. */
  resolve(address: string, use: EntityUse, nowMs: number): { entity: Entity; address: EntityAddress } {
    const parsed = parseAddress(address);
    if (parsed === undefined) throw notFound(address);
    const found = this.entities.get(parsed.path);
    if (found !== undefined) {
      if (use === 'receive-session' && parsed.subQueue === 'main') this.#adoptSessions(found, nowMs);
      return { entity: found, address: parsed };
    }
    if (!this.#createOnFirstUse || parsed.subQueue !== 'main') throw notFound(parsed.path);
    return { entity: this.#createImplicit(parsed, use, nowMs), address: parsed };
  }

  /** Finds the queue a receiver means. Throws `entity-not-found`, or `not-allowed` for a topic. */
  resolveQueue(address: string, use: EntityUse, nowMs: number): { entity: Entity; queue: MessageQueue } {
    const { entity, address: parsed } = this.resolve(address, use, nowMs);
    if (entity.description.kind === 'topic') {
      throw new BrokerError('not-allowed', `'${entity.path}' is a topic. Receive from one of its subscriptions.`);
    }
    entity.checkEnabled('receive');
    entity.accessedAtMs = nowMs;
    return { entity, queue: entity.queue(parsed.subQueue) };
  }

  /** Accepts all messages or none. A message whose id duplicate detection has seen is accepted and dropped. */
  send(entity: Entity, contents: readonly MessageContent[], nowMs: number): void {
    this.#checkSend(entity, contents, nowMs);
    for (const content of contents) {
      if (this.#isDuplicate(entity, content, nowMs)) continue;
      if ((content.scheduledAtMs ?? 0) > nowMs) entity.main.schedule(content, content.scheduledAtMs ?? nowMs, nowMs);
      else this.#deliver(entity, content, nowMs, 0);
    }
  }

  /** Schedules messages and returns their numbers, which cancel them. One that is due already is delivered at the next turn. */
  schedule(entity: Entity, contents: readonly MessageContent[], nowMs: number): number[] {
    this.#checkSend(entity, contents, nowMs);
    return contents.map((content) => {
      const atMs = this.#isDuplicate(entity, content, nowMs)
        ? Infinity
        : Math.max(content.scheduledAtMs ?? nowMs, nowMs);
      const sequenceNumber = entity.main.schedule(content, atMs, nowMs);
      if (atMs === Infinity) entity.main.cancelScheduled([sequenceNumber], nowMs);
      return sequenceNumber;
    });
  }

  /** Sends the dead letters of an entity back to where they came from, as new messages. Returns how many. */
  requeueDeadLetters(entity: Entity, sequenceNumbers: readonly number[] | undefined, nowMs: number): number {
    const { deadLetters } = entity;
    const wanted = sequenceNumbers === undefined ? undefined : new Set(sequenceNumbers);
    let requeued = 0;
    for (const message of deadLetters.store.index.from(0)) {
      if (message.lock !== undefined || (wanted !== undefined && !wanted.has(message.sequenceNumber))) continue;
      const user = new Map([
        ['DeadLetterReason', undefined] as const,
        ['DeadLetterErrorDescription', undefined] as const,
      ]);
      deadLetters.delete(message);
      // Back into this entity alone: through its topic, every other subscription would get it a second time.
      entity.main.add(message.content.with({ system: new Map(), user }), nowMs);
      requeued += 1;
    }
    return requeued;
  }

  /** Lets everything happen that is due, in every entity. Returns the time of the next deadline. */
  advance(nowMs: number, clients?: AttachedClients): number {
    let next = Infinity;
    for (const entity of this.entities.all()) {
      for (const queue of entity.queues()) next = Math.min(next, queue.advance(nowMs));
    }
    for (const entity of this.entities.all()) next = Math.min(next, this.#deleteIdle(entity, nowMs, clients));
    return next;
  }

  /** Deletes an entity that was idle for as long as its options say. Returns when to look again. */
  #deleteIdle(entity: Entity, nowMs: number, clients: AttachedClients | undefined): number {
    const { autoDeleteOnIdleMs } = entity.settings;
    if (autoDeleteOnIdleMs === undefined || this.entities.get(entity.path) !== entity) return Infinity;
    const isAttached = [entity, ...entity.subscriptions.values()].some((one) => clients?.isAttached(one));
    // A client that has left since the last look was there for a part of the time.
    if (isAttached || entity.wasAttached) entity.accessedAtMs = nowMs;
    entity.wasAttached = isAttached;
    if (nowMs - entity.accessedAtMs < autoDeleteOnIdleMs) return entity.accessedAtMs + autoDeleteOnIdleMs;
    const deleted = this.entities.delete(entity.path);
    clients?.closeEntities(deleted);
    return Infinity;
  }

  #checkSend(entity: Entity, contents: readonly MessageContent[], nowMs: number): void {
    entity.checkEnabled('send');
    if (entity.description.kind === 'subscription') {
      throw new BrokerError('not-allowed', `'${entity.path}' is a subscription. Send to its topic.`);
    }
    entity.accessedAtMs = nowMs;
    if (entity.main.hasSessions && contents.some((content) => content.sessionId === undefined)) {
      throw new BrokerError(
        'not-allowed',
        `The entity '${entity.path}' requires sessions. Set the session id of every message sent to it.`,
      );
    }
    let bytes = 0;
    for (const content of contents) bytes += messageCost(content);
    this.#budget.check(bytes * Math.max(1, entity.subscriptions.size));
    const limit = entity.settings.maxSizeInMegabytes * bytesPerMegabyte;
    if (entity.main.store.bytes + bytes > limit) {
      throw new BrokerError(
        'quota-exceeded',
        `The entity '${entity.path}' holds its maximum of ${limit} bytes. Receive or purge messages, or raise maxSizeInMegabytes.`,
      );
    }
  }

  #isDuplicate(entity: Entity, content: MessageContent, nowMs: number): boolean {
    if (!entity.settings.requiresDuplicateDetection) return false;
    const { history } = entity.main;
    if (history.has(content.messageId, nowMs, entity.settings.duplicateDetectionHistoryTimeWindowMs)) return true;
    history.add(content.messageId, nowMs);
    this.#log.seen(entity.path, content.messageId, nowMs);
    return false;
  }

  /** Puts a message where it belongs: here, into every subscription that wants it, or where the entity forwards to. */
  #deliver(entity: Entity, content: MessageContent, nowMs: number, forwards: number): void {
    const { forwardTo, requiresSession } = entity.settings;
    if (forwardTo !== undefined) {
      this.#forward(entity, forwardTo, content, nowMs, forwards);
    } else if (entity.description.kind === 'topic') {
      for (const subscription of entity.subscriptions.values()) this.#publish(subscription, content, nowMs, forwards);
    } else if (requiresSession && content.sessionId === undefined) {
      const description = 'The entity requires sessions and the message has no session id.';
      deadLetterNew(entity, content, nowMs, 'Session id is null.', description);
    } else {
      entity.main.add(content, nowMs);
    }
  }

  /** One copy for all rules without an action, and one more for each rule with an action. */
  #publish(subscription: Entity, content: MessageContent, nowMs: number, forwards: number): void {
    let isMatched = false;
    for (const rule of subscription.rules) {
      try {
        if (!rule.matches(content)) continue;
        if (rule.changes !== undefined)
          this.#deliver(subscription, content.with(rule.changes(content)), nowMs, forwards);
        else isMatched = true;
      } catch (error) {
        if (!(error instanceof SqlError)) throw error;
        if (!subscription.settings.deadLetteringOnFilterEvaluationExceptions) continue;
        deadLetterNew(
          subscription,
          content,
          nowMs,
          'FilterEvaluationException',
          `Rule '${rule.options.name}': ${error.message}`,
        );
      }
    }
    if (isMatched) this.#deliver(subscription, content, nowMs, forwards);
  }

  #forward(entity: Entity, to: string, content: MessageContent, nowMs: number, forwards: number): void {
    const target = this.entities.get(to);
    const problem =
      forwards >= maxForwards
        ? `The message was forwarded ${maxForwards} times already.`
        : target === undefined || target.description.kind === 'subscription'
          ? `The entity '${to}' that '${entity.path}' forwards to does not exist.`
          : target.settings.status === 'Disabled' || target.settings.status === 'SendDisabled'
            ? `The entity '${to}' that '${entity.path}' forwards to is disabled.`
            : undefined;
    if (target !== undefined && problem === undefined) {
      if (!this.#isDuplicate(target, content, nowMs)) this.#deliver(target, content, nowMs, forwards + 1);
      return;
    }
    const reason = forwards >= maxForwards ? 'MaxTransferHopCountExceeded' : 'ForwardingFailed';
    const failed = withReason(content, reason, problem ?? '');
    entity.transfer.add(failed, nowMs);
  }

  #deadLetter(entity: Entity, content: MessageContent, message: BrokerMessage, nowMs: number): void {
    const { forwardDeadLetteredMessagesTo } = entity.settings;
    if (forwardDeadLetteredMessagesTo === undefined)
      entity.deadLetters.add(content, nowMs, { from: message, source: entity.path });
    else this.#forward(entity, forwardDeadLetteredMessagesTo, content, nowMs, 0);
  }

  #createImplicit(address: EntityAddress, use: EntityUse, nowMs: number): Entity {
    if (this.entities.size >= maxImplicitEntities) {
      throw new BrokerError(
        'quota-exceeded',
        `There are ${maxImplicitEntities} entities. No more are made on first use: declare '${address.path}' or delete others.`,
      );
    }
    const settings = { requiresSession: use === 'receive-session' };
    const { topic, subscription } = address;
    if (topic === undefined || subscription === undefined) {
      return this.entities.create({ kind: 'queue', path: address.path, options: settings, isImplicit: true }, nowMs);
    }
    const owner = this.entities.get(topic);
    const waiting = owner !== undefined && owner.description.kind === 'queue' ? this.#becomeTopic(owner, nowMs) : [];
    if (this.entities.get(topic) === undefined) {
      this.entities.create({ kind: 'topic', path: topic, options: {}, isImplicit: true }, nowMs);
    }
    const created = this.entities.create(
      { kind: 'subscription', path: address.path, options: settings, isImplicit: true },
      nowMs,
    );
    for (const { content, activatesAtMs } of waiting) {
      if (activatesAtMs === undefined) this.#deliver(created, content, nowMs, 0);
      else this.entities.get(topic)?.main.schedule(content, activatesAtMs, nowMs);
    }
    return created;
  }

  /** A sender came first and made a queue; now a subscription shows that it is a topic. What waits goes to that subscription. */
  #becomeTopic(queue: Entity, nowMs: number): BrokerMessage[] {
    if (!queue.description.isImplicit)
      throw new BrokerError('not-allowed', `'${queue.path}' is a queue and has no subscriptions.`);
    const waiting = [...queue.main.store.index.from(0)];
    this.entities.delete(queue.path);
    this.entities.create({ kind: 'topic', path: queue.path, options: {}, isImplicit: true }, nowMs);
    return waiting;
  }

  /** The first session receiver of an entity made on first use turns its sessions on, if every message has a session id. */
  #adoptSessions(entity: Entity, nowMs: number): void {
    if (!entity.description.isImplicit || entity.main.hasSessions) return;
    for (const message of entity.main.store.index.from(0)) if (message.content.sessionId === undefined) return;
    this.entities.change(entity, { settings: { ...entity.settings, requiresSession: true } }, nowMs);
  }
}

function notFound(address: string): BrokerError {
  return new BrokerError('entity-not-found', `The messaging entity '${address}' could not be found.`);
}

function withReason(content: MessageContent, reason: string, description: string): MessageContent {
  const user = new Map([['DeadLetterReason', reason] as const, ['DeadLetterErrorDescription', description] as const]);
  return content.with({ system: new Map(), user });
}

function deadLetterNew(
  entity: Entity,
  content: MessageContent,
  nowMs: number,
  reason: string,
  description: string,
): void {
  entity.deadLetters.add(withReason(content, reason, description), nowMs);
}

/** Tokens are unique across restarts by their random part and in this process by their count. */
function lockTokens(): () => string {
  const prefix = randomBytes(10).toString('hex');
  let count = 0;
  return () => {
    count += 1;
    return prefix + count.toString(16).padStart(12, '0');
  };
}
