import { compileRule, type CompiledRule, type RuleOptions } from '../filters/rule.js';
import { BrokerError } from './broker-error.js';
import type { SubQueue } from './address.js';
import type { EntityDescription, EntitySettings } from './entity-options.js';
import type { MessageQueue } from './message-queue.js';

/**
 * A queue, a topic or a subscription with its sub-queues. The main queue of a topic holds scheduled messages only: everything else is
 * copied to the subscriptions at once.
 */
export class Entity {
  readonly main: MessageQueue;
  readonly deadLetters: MessageQueue;
  readonly transfer: MessageQueue;
  /** Subscriptions of a topic by lower-case name. */
  readonly subscriptions = new Map<string, Entity>();
  accessedAtMs: number;
  /** Clients were attached when the broker last looked for idle entities. */
  wasAttached = false;
  #description: EntityDescription;
  #rules: readonly CompiledRule[];

  constructor(
    description: EntityDescription,
    queues: { main: MessageQueue; deadLetters: MessageQueue; transfer: MessageQueue },
  ) {
    this.#description = description;
    this.#rules = description.rules.map(compileRule);
    this.main = queues.main;
    this.deadLetters = queues.deadLetters;
    this.transfer = queues.transfer;
    this.accessedAtMs = description.createdAtMs;
  }

  get description(): EntityDescription {
    return this.#description;
  }

  get path(): string {
    return this.#description.path;
  }

  get settings(): EntitySettings {
    return this.#description.settings;
  }

  get rules(): readonly CompiledRule[] {
    return this.#rules;
  }

  queues(): MessageQueue[] {
    return [this.main, this.deadLetters, this.transfer];
  }

  queue(subQueue: SubQueue): MessageQueue {
    return subQueue === 'main' ? this.main : subQueue === 'dead-letter' ? this.deadLetters : this.transfer;
  }

  change(change: Partial<Pick<EntityDescription, 'settings' | 'rules' | 'isImplicit'>>, nowMs: number): void {
    const rules = change.rules?.map(compileRule);
    this.#description = { ...this.#description, ...change, updatedAtMs: nowMs };
    if (rules !== undefined) this.#rules = rules;
    if (change.settings !== undefined) for (const queue of this.queues()) queue.configure(change.settings);
  }

  rule(name: string): RuleOptions | undefined {
    return this.#description.rules.find((rule) => rule.name.toLowerCase() === name.toLowerCase());
  }

  /** Throws `entity-disabled` if the status of the entity forbids it. */
  checkEnabled(use: 'send' | 'receive'): void {
    const { status } = this.settings;
    if (status === 'Active' || status === (use === 'send' ? 'ReceiveDisabled' : 'SendDisabled')) return;
    throw new BrokerError(
      'entity-disabled',
      `The messaging entity '${this.path}' is disabled for ${use} (status ${status}). Enable it first.`,
    );
  }
}
