import { availableParallelism } from 'node:os';
import { BoundedMap, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import {
  AzureQueueAccount,
  queueConnection,
  QueueListener,
  queueOptions,
  QueueOutput,
  queueOutputOptions,
  type QueueWakeups,
  type Deliver,
  type OutputTarget,
  type QueueHostOptions,
  type QueueObservation,
  type QueueOptions,
  type TriggerListener,
} from '@drover/trigger-sources';
import type { Binding, FunctionDefinition } from '../applications/function-definition.js';
import type { OutputPlan } from '../bindings/outputs.js';

interface QueueBindingsOptions {
  /** Settings of the application. */
  readonly settings: Readonly<Record<string, string | undefined>>;
  /** `extensions.queues` of its host.json. */
  readonly host: QueueHostOptions;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<QueueObservation>;
  readonly wakeups: QueueWakeups;
}

/** The storage queues of one application: one client per account, one output target per queue. */
export class QueueBindings {
  readonly #options: QueueBindingsOptions;
  readonly #accounts = new Map<string, AzureQueueAccount>();
  /** Bounded, since queue names can be built from messages. Beyond the bound, a target is created for each send. */
  readonly #targets = new BoundedMap<string, QueueOutput>({ maxWeight: maxTargets, whenFull: 'reject' });

  constructor(options: QueueBindingsOptions) {
    this.#options = options;
  }

  /** Throws TRIGGER_OPTIONS_INVALID. */
  optionsOf({ trigger, name: functionName }: FunctionDefinition): QueueOptions {
    const { host } = this.#options;
    return queueOptions({ functionName, host, binding: trigger.options, cores: availableParallelism() });
  }

  /** Throws if the connection setting is missing or invalid. */
  listen(
    { trigger, name: functionName }: FunctionDefinition,
    options: QueueOptions,
    deliver: Deliver,
  ): TriggerListener {
    const { clock, randomness, observe, wakeups } = this.#options;
    return new QueueListener({
      functionName,
      account: this.#account(functionName, trigger),
      options,
      deliver,
      wakeups,
      clock,
      randomness,
      observe,
    });
  }

  /** Throws if the options or the connection are invalid. */
  target(functionName: string, { binding, options }: Pick<OutputPlan, 'binding' | 'options'>): OutputTarget {
    const { clock, randomness, observe, wakeups, host } = this.#options;
    const output = queueOutputOptions({ functionName, host, binding: options });
    const key = `${binding.options['connection'] as string}\n${output.queueName}\n${output.messageEncoding}\n${functionName}`;
    const known = this.#targets.get(key);
    if (known) return known;
    const account = this.#account(functionName, binding);
    const target = new QueueOutput({ functionName, account, options: output, wakeups, clock, randomness, observe });
    this.#targets.set(key, target);
    return target;
  }

  #account(functionName: string, { options }: Binding): AzureQueueAccount {
    const { connection } = options;
    const name = typeof connection === 'string' ? connection : undefined;
    const known = this.#accounts.get(name ?? '');
    if (known) return known;
    const { settings } = this.#options;
    const account = new AzureQueueAccount(queueConnection({ functionName, connection: name, settings }));
    this.#accounts.set(name ?? '', account);
    return account;
  }
}

const maxTargets = 1_000;
