import { BoundedMap } from '@drover/service-kit';
import type {
  BindingExtension,
  BindingExtensionFactory,
  BindingRequest,
  ExtensionParts,
  PreparedTrigger,
} from '../binding-extension.js';
import type { ParkedSource } from '../parked-trigger.js';
import { storageConnection, type StorageConnection } from '../storage/storage-connection.js';
import type { OutputTarget } from '../trigger-source.js';
import { WorkSubscription } from '../watch/notification-endpoints.js';
import { AzureQueueAccount, proxySettingsOf } from './azure-storage-queue.js';
import type { QueueObservation } from './observations.js';
import { parkedQueue, watchedQueue } from './parked-queue.js';
import { QueueListener } from './queue-listener.js';
import { queueOptions, queueOutputOptions, type QueueHostOptions, type QueueOptions } from './queue-options.js';
import { QueueOutput } from './queue-output.js';

const maxTargets = 1_000;

interface QueueHost {
  readonly queues: QueueHostOptions;
}
type QueueParts = ExtensionParts<QueueHost, QueueObservation>;

/** The storage queues of one application: one client per account, one output target per queue. */
class QueueExtension implements BindingExtension {
  readonly #parts: QueueParts;
  readonly #accounts = new Map<string, AzureQueueAccount>();
  /** Bounded, since queue names can be built from messages. Beyond the bound, a target is created for each send. */
  readonly #targets = new BoundedMap<string, QueueOutput>({ maxWeight: maxTargets, whenFull: 'reject' });

  constructor(parts: QueueParts) {
    this.#parts = parts;
  }

  prepare(trigger: BindingRequest): PreparedTrigger {
    const { functionName } = trigger;
    const { host, cores, clock, randomness, observe, wakeups } = this.#parts;
    const options = queueOptions({ functionName, host: host.queues, binding: trigger.options, cores });
    return {
      unknownKeys: options.unknownKeys,
      retryBackOffMs: options.retryBackOffMs,
      listen: (deliver) =>
        new QueueListener({
          functionName,
          account: this.#account(trigger),
          options,
          deliver,
          wakeups,
          subscribe: this.#subscribe(trigger, options),
          clock,
          randomness,
          observe,
        }),
      park: () => this.#park(trigger, options),
    };
  }

  target(output: BindingRequest): OutputTarget {
    const { functionName } = output;
    const { clock, randomness, observe, wakeups, host } = this.#parts;
    const options = queueOutputOptions({ functionName, host: host.queues, binding: output.options });
    const key = `${connectionOf(output) ?? ''}\n${options.queueName}\n${options.messageEncoding}\n${functionName}`;
    const known = this.#targets.get(key);
    if (known) return known;
    const account = this.#account(output);
    const target = new QueueOutput({ functionName, account, options, wakeups, clock, randomness, observe });
    this.#targets.set(key, target);
    return target;
  }

  #subscribe(trigger: BindingRequest, { queueName }: QueueOptions) {
    const { notificationEndpoints: endpoints } = this.#parts;
    const entity = watchedQueue(this.#connection(trigger).endpoint, queueName);
    return entity && endpoints && ((onWork: () => void) => new WorkSubscription(endpoints, entity, onWork));
  }

  #park(trigger: BindingRequest, options: QueueOptions): ParkedSource {
    const proxies = proxySettingsOf(this.#parts.settings);
    const open = (connection: StorageConnection) => new AzureQueueAccount(connection, proxies);
    return parkedQueue({ connection: this.#connection(trigger), options, open });
  }

  #account(binding: BindingRequest): AzureQueueAccount {
    const connection = connectionOf(binding);
    const known = this.#accounts.get(connection ?? '');
    if (known) return known;
    const account = new AzureQueueAccount(this.#connection(binding), this.#parts.settings);
    this.#accounts.set(connection ?? '', account);
    return account;
  }

  #connection(binding: BindingRequest): StorageConnection {
    const { functionName } = binding;
    const { settings } = this.#parts;
    return storageConnection({ service: 'queue', functionName, connection: connectionOf(binding), settings });
  }
}

function connectionOf({ options: { connection } }: BindingRequest): string | undefined {
  return typeof connection === 'string' ? connection : undefined;
}

export const queueExtension: BindingExtensionFactory<QueueHost, QueueObservation> = {
  types: { triggers: ['queueTrigger'], inputs: [], outputs: ['queue'] },
  create: (parts) => new QueueExtension(parts),
};
