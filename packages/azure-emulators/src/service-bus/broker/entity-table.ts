import { compileRule, defaultRule, type RuleOptions } from '../filters/rule.js';
import { SqlError } from '../filters/sql-values.js';
import { deadLetterSuffix, entityKey, parseAddress, subscriptionPath, transferSuffix } from './address.js';
import { BrokerError } from './broker-error.js';
import type { BrokerLog } from './broker-log.js';
import { Entity } from './entity.js';
import {
  checkName,
  compileSettings,
  type EntityDescription,
  type EntityKind,
  type BusQueueOptions,
  type SubscriptionOptions,
  type TopicOptions,
} from './entity-options.js';
import type { MemoryBudget } from './memory-budget.js';
import type { BrokerMessage, MessageContent } from './message.js';
import { MessageQueue } from './message-queue.js';

export interface EntityRequest {
  readonly kind: EntityKind;
  /** Of a subscription: `<topic>/Subscriptions/<name>`. */
  readonly path: string;
  readonly options: BusQueueOptions & SubscriptionOptions & TopicOptions;
  /** Rules of a new subscription; one that lets everything pass if absent. */
  readonly rules?: readonly RuleOptions[];
  readonly isImplicit?: boolean;
}

export interface EntityTableParts {
  readonly log: BrokerLog;
  readonly budget: MemoryBudget;
  readonly nextLockToken: () => string;
  readonly onAvailable: (queue: MessageQueue) => void;
  readonly onDeadline: (atMs: number) => void;
  readonly deadLetter: (entity: Entity, content: MessageContent, message: BrokerMessage, nowMs: number) => void;
  readonly activate: (entity: Entity, content: MessageContent, nowMs: number) => void;
}

/** Queues, topics and subscriptions by path. Names are compared without regard to case. */
export class EntityTable {
  readonly #parts: EntityTableParts;
  readonly #entities = new Map<string, Entity>();

  constructor(parts: EntityTableParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#entities.size;
  }

  get(path: string): Entity | undefined {
    return this.#entities.get(entityKey(path));
  }

  all(): IterableIterator<Entity> {
    return this.#entities.values();
  }

  /** Creates an entity. Throws `entity-exists`, `entity-not-found` (the topic of a subscription) or `invalid-argument`. */
  create(request: EntityRequest, nowMs: number): Entity {
    const { kind } = request;
    const path = this.#checkPath(kind, request.path);
    if (this.get(path) !== undefined) throw exists(path);
    const rules = kind === 'subscription' ? (request.rules ?? [defaultRule]) : [];
    for (const rule of rules) checkRule(rule);
    const entity = this.restore({
      kind,
      path,
      settings: compileSettings(request.options),
      rules,
      isImplicit: request.isImplicit ?? false,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    });
    this.#parts.log.entity(entity.description);
    return entity;
  }

  /** Puts an entity in place without checks and without a record. Its topic must be there. */
  restore(description: EntityDescription): Entity {
    const { path, settings } = description;
    const shared = {
      log: this.#parts.log,
      budget: this.#parts.budget,
      nextLockToken: this.#parts.nextLockToken,
      onDeadline: this.#parts.onDeadline,
    };
    const makeQueue = (queuePath: string, own: boolean): MessageQueue => {
      const queue: MessageQueue = new MessageQueue(queuePath, settings, {
        ...shared,
        ...(own && {
          deadLetter: (content: MessageContent, message: BrokerMessage, nowMs: number) =>
            this.#parts.deadLetter(entity, content, message, nowMs),
        }),
        activate: (content, nowMs) => this.#parts.activate(entity, content, nowMs),
        onAvailable: () => this.#parts.onAvailable(queue),
      });
      return queue;
    };
    const entity: Entity = new Entity(description, {
      main: makeQueue(path, true),
      deadLetters: makeQueue(path + deadLetterSuffix, false),
      transfer: makeQueue(path + transferSuffix, false),
    });
    this.#entities.set(entityKey(path), entity);
    this.#topicOf(path)?.subscriptions.set(entityKey(path), entity);
    this.#noteIdle(entity);
    return entity;
  }

  change(
    entity: Entity,
    change: Partial<Pick<EntityDescription, 'settings' | 'rules' | 'isImplicit'>>,
    nowMs: number,
  ): void {
    entity.change(change, nowMs);
    this.#parts.log.entity(entity.description);
    entity.accessedAtMs = nowMs;
    this.#noteIdle(entity);
  }

  #noteIdle({ settings, accessedAtMs }: Entity): void {
    if (settings.autoDeleteOnIdleMs !== undefined) this.#parts.onDeadline(accessedAtMs + settings.autoDeleteOnIdleMs);
  }

  /** Changes options. What cannot change after creation stays, as in Azure. */
  update(entity: Entity, options: BusQueueOptions & SubscriptionOptions & TopicOptions, nowMs: number): void {
    const { requiresSession, requiresDuplicateDetection } = entity.settings;
    this.change(
      entity,
      { settings: compileSettings({ ...options, requiresSession, requiresDuplicateDetection }), isImplicit: false },
      nowMs,
    );
  }

  /** Deletes an entity with its messages, and the subscriptions of a topic. Throws `entity-not-found`. */
  delete(path: string): Entity[] {
    const entity = this.get(path);
    if (entity === undefined)
      throw new BrokerError('entity-not-found', `The messaging entity '${path}' could not be found.`);
    const deleted = [...entity.subscriptions.values()].flatMap((subscription) => this.delete(subscription.path));
    for (const queue of entity.queues()) {
      queue.purge('all');
      queue.store.clearSessionStates();
      queue.history.clear();
    }
    this.#entities.delete(entityKey(path));
    this.#topicOf(path)?.subscriptions.delete(entityKey(path));
    this.#parts.log.entityDeleted(entity.path);
    return [...deleted, entity];
  }

  /** Adds a rule. Throws `entity-exists`, or `invalid-argument` if its filter or action is wrong. */
  addRule(subscription: Entity, rule: RuleOptions, nowMs: number): void {
    checkRule(rule);
    if (subscription.rule(rule.name) !== undefined) throw exists(`${subscription.path}/Rules/${rule.name}`);
    this.change(subscription, { rules: [...subscription.description.rules, rule] }, nowMs);
  }

  replaceRule(subscription: Entity, rule: RuleOptions, nowMs: number): void {
    checkRule(rule);
    this.removeRule(subscription, rule.name, nowMs);
    this.addRule(subscription, rule, nowMs);
  }

  /** Removes a rule. Throws `entity-not-found`. A subscription without rules receives nothing. */
  removeRule(subscription: Entity, name: string, nowMs: number): void {
    const rule = subscription.rule(name);
    if (rule === undefined) {
      throw new BrokerError(
        'entity-not-found',
        `The messaging entity '${subscription.path}/Rules/${name}' could not be found.`,
      );
    }
    this.change(subscription, { rules: subscription.description.rules.filter((other) => other !== rule) }, nowMs);
  }

  #topicOf(path: string): Entity | undefined {
    const topic = parseAddress(path)?.topic;
    return topic === undefined ? undefined : this.get(topic);
  }

  #checkPath(kind: EntityKind, path: string): string {
    if (kind !== 'subscription') {
      checkName(kind, path);
      return path;
    }
    const address = parseAddress(path);
    const topic = address?.topic === undefined ? undefined : this.get(address.topic);
    if (address?.subscription === undefined || topic?.description.kind !== 'topic') {
      throw new BrokerError(
        'entity-not-found',
        `The messaging entity '${address?.topic ?? path}' could not be found. Create the topic first.`,
      );
    }
    checkName('subscription', address.subscription);
    return subscriptionPath(topic.path, address.subscription);
  }
}

function checkRule(rule: RuleOptions): void {
  checkName('rule', rule.name);
  try {
    compileRule(rule);
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    throw new BrokerError('invalid-argument', `The rule '${rule.name}' is not valid. ${error.message}`);
  }
}

function exists(path: string): BrokerError {
  return new BrokerError('entity-exists', `The messaging entity '${path}' already exists.`);
}
