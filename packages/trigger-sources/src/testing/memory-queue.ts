import { systemClock, systemRandomness, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { decodeBody } from '../queue/message-body.js';
import type { QueueObservation } from '../queue/observations.js';
import { QueueListener } from '../queue/queue-listener.js';
import { queueOptions, type QueueOptions } from '../queue/queue-options.js';
import { QueueOutput } from '../queue/queue-output.js';
import { SourceWakeups } from '../source-wakeups.js';
import type { QueueAccount } from '../queue/storage-queue.js';
import type { Deliver } from '../trigger-source.js';
import { MemoryQueueAccount } from './memory-queue-account.js';

export interface MemoryQueueOptions {
  readonly name?: string;
  readonly functionName?: string;
  readonly clock?: Clock;
  readonly randomness?: Randomness;
  readonly observe?: Observe<QueueObservation>;
  /** Overrides the default trigger options. */
  readonly options?: Partial<QueueOptions>;
}

/** A queue in memory with the real listener and output, for tests of code that uses the port. */
export class MemoryQueue {
  readonly name: string;
  readonly account: MemoryQueueAccount;
  readonly wakeups = new SourceWakeups();
  readonly options: QueueOptions;
  readonly #functionName: string;
  readonly #io: {
    readonly clock: Clock;
    readonly randomness: Randomness;
    readonly observe: Observe<QueueObservation>;
  };

  constructor({ name = 'orders', functionName = 'process-order', options, ...io }: MemoryQueueOptions = {}) {
    this.name = name;
    this.#functionName = functionName;
    this.#io = { clock: systemClock, randomness: systemRandomness, observe: () => undefined, ...io };
    this.account = new MemoryQueueAccount(this.#io.clock).create(name);
    const defaults = queueOptions({ functionName, host: {}, binding: { queueName: name }, cores: 1 });
    this.options = { ...defaults, ...options };
  }

  /** Returns a listener that is not started. Several listeners behave like several processes. */
  listener(deliver: Deliver, account: QueueAccount = this.account): QueueListener {
    const { options, wakeups } = this;
    return new QueueListener({ functionName: this.#functionName, account, options, deliver, wakeups, ...this.#io });
  }

  output(): QueueOutput {
    const { account, wakeups } = this;
    const options = { queueName: this.name, messageEncoding: this.options.messageEncoding };
    return new QueueOutput({ functionName: this.#functionName, account, options, wakeups, ...this.#io });
  }

  send(...bodies: readonly (string | Uint8Array)[]): Promise<void> {
    return this.output().send(
      bodies.map((body) => ({ body })),
      new AbortController().signal,
    );
  }

  /** Bodies of all messages, leased ones included. */
  get bodies(): string[] {
    return this.#read(this.name);
  }

  get poisoned(): string[] {
    return this.#read(this.options.poisonQueueName ?? '');
  }

  #read(queue: string): string[] {
    return this.account.messages(queue).map(({ text }) => decodeBody(text, this.options.messageEncoding).text ?? text);
  }
}
