import { randomUUID } from 'node:crypto';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { storageConnection } from '../storage/storage-connection.js';
import type { Deliver } from '../trigger-source.js';
import { AzureQueueAccount } from './azure-storage-queue.js';
import type { QueueObservation } from './observations.js';
import { QueueListener } from './queue-listener.js';
import { queueOptions, type QueueOptions } from './queue-options.js';
import { QueueOutput } from './queue-output.js';
import { SourceWakeups } from '../source-wakeups.js';

const never = new AbortController().signal;

/** A queue of its own at a real service, with what a process has around it. */
export class AzureBench {
  readonly functionName = 'process-order';
  readonly wakeups = new SourceWakeups();
  readonly observed: QueueObservation[] = [];
  readonly account: AzureQueueAccount;
  readonly options: QueueOptions;

  constructor(connectionString: string, binding: Readonly<Record<string, unknown>> = {}) {
    const { functionName } = this;
    const settings = { Shop: connectionString };
    this.account = new AzureQueueAccount(
      storageConnection({ service: 'queue', functionName, connection: 'Shop', settings }),
    );
    this.options = queueOptions({
      functionName,
      host: { maxPollingInterval: 1_000 },
      binding: { queueName: `orders-${randomUUID().slice(0, 8)}`, ...binding },
      cores: 1,
    });
  }

  get queue() {
    return this.account.queue(this.options.queueName);
  }

  get poison() {
    return this.account.queue(this.options.poisonQueueName ?? '');
  }

  listener(deliver: Deliver): QueueListener {
    return new QueueListener({ ...this.#io(), options: this.options, deliver });
  }

  send(...bodies: readonly (string | Uint8Array)[]): Promise<void> {
    const output = new QueueOutput({ ...this.#io(), options: this.options });
    return output.send(
      bodies.map((body) => ({ body })),
      never,
    );
  }

  kinds(...kinds: readonly QueueObservation['kind'][]): QueueObservation[] {
    return this.observed.filter(({ kind }) => kinds.includes(kind));
  }

  #io() {
    const { functionName, account, wakeups } = this;
    const observe = (observation: QueueObservation): void => void this.observed.push(observation);
    return { functionName, account, wakeups, clock: systemClock, randomness: systemRandomness, observe };
  }
}
