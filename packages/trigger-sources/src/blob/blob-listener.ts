import { setMaxListeners } from 'node:events';
import { defineStates } from '@drover/contracts';
import { BoundedMap, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { blobUnavailable } from '../errors.js';
import type { QueueObservation } from '../queue/observations.js';
import { QueueListener } from '../queue/queue-listener.js';
import type { QueueOptions } from '../queue/queue-options.js';
import type { SourceWakeups } from '../source-wakeups.js';
import type { QueueAccount, StorageQueue } from '../queue/storage-queue.js';
import { requestTimeoutMs, untilAborted, withDeadline } from '../requests.js';
import { newHolder } from '../store/lease-holder.js';
import type { TriggerStore } from '../store/trigger-store.js';
import type { Backlog, Deliver, TriggerListener } from '../trigger-source.js';
import type { BlobAccount, BlobContainer } from './blob-container.js';
import { foundQueue, parseBlobMessage, poisonQueue } from './blob-message.js';
import type { BlobTriggerOptions } from './blob-options.js';
import { BlobRuns } from './blob-run.js';
import { BlobScanner } from './blob-scanner.js';
import type { ContentBudget } from './content-budget.js';
import { measureBlobs } from './measure-blobs.js';
import type { BlobObservation } from './observations.js';
import { ScanOwnership } from './scan-ownership.js';

/**
 * - created: not started
 * - listening: scans the container and delivers what was found
 * - paused: scans, so that other runtimes get what is new; delivers nothing
 * - draining: neither scans nor takes anything; running blobs finish
 * - stopped: all is released
 */
export const blobListenerStates = defineStates('blob listener', {
  created: ['listening', 'stopped'],
  listening: ['paused', 'draining', 'stopped'],
  paused: ['listening', 'draining', 'stopped'],
  draining: ['stopped'],
  stopped: [],
});

export interface BlobListenerOptions {
  readonly application: string;
  readonly functionName: string;
  readonly account: BlobAccount;
  /** Queues of the runtime: found versions are distributed through one of them. */
  readonly hostQueues: QueueAccount;
  /** Queues in the account of the blobs, for the poison queue. */
  readonly ownQueues: QueueAccount;
  readonly options: BlobTriggerOptions;
  readonly deliver: Deliver;
  readonly store: TriggerStore;
  readonly budget: ContentBudget;
  /** Name of the setting of the account, as the trigger names it. */
  readonly connection?: string | undefined;
  /** Shared with the outputs of this process. */
  readonly wakeups: SourceWakeups;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<BlobObservation | QueueObservation>;
}

/** Other runtimes find new versions in the queue this late. */
const maxPollingIntervalMs = 10_000;
/** Time limit for the last requests of the scanner in `stop`. */
const stopWithinMs = 5_000;

/**
 * Listens to the blobs of one container for one function. One runtime scans and puts new versions into a queue, all runtimes take
 * them from there: a queue gives leases, counted deliveries and a poison queue to what has none of them.
 */
export class BlobListener implements TriggerListener {
  readonly name: string;
  readonly broken: Promise<unknown>;
  readonly #options: BlobListenerOptions;
  readonly #container: BlobContainer;
  readonly #queue: StorageQueue;
  readonly #ownership: ScanOwnership;
  readonly #scanner: BlobScanner;
  readonly #runs: QueueListener;
  readonly #state;
  /** Names of blobs by the id of their message, for observations. */
  readonly #blobs = new BoundedMap<string, string>({ maxWeight: 2_000, whenFull: 'evict-unused' });
  readonly #closing = new AbortController();
  readonly #cut = new AbortController();
  #break: (error: unknown) => void = () => undefined;
  #scanning: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;

  constructor(listenerOptions: BlobListenerOptions) {
    this.#options = listenerOptions;
    const { application, functionName, account, hostQueues, options, store, clock, randomness, observe } =
      listenerOptions;
    const { setting } = account;
    this.name = `blob trigger ${functionName}`;
    this.#container = account.container(options.pattern.container);
    this.#queue = hostQueues.queue(foundQueue(application, functionName));
    setMaxListeners(0, this.#cut.signal); // one for each request in flight
    this.#state = blobListenerStates.start('created', ({ to }) =>
      observe({ kind: 'blob.listener', functionName, container: this.#container.name, state: to }),
    );
    this.#ownership = new ScanOwnership({
      store,
      key: `blobs/${application}/${functionName}`,
      place: `${this.#container.address}/${options.pattern.prefix}`,
      owner: newHolder(randomness),
      clock,
    });
    const shared = { ...listenerOptions, setting, container: this.#container };
    this.#scanner = new BlobScanner({ ...shared, queue: this.#queue, ownership: this.#ownership });
    const runs = new BlobRuns({
      ...shared,
      pattern: options.pattern,
      clientOf: options.isSdkBinding ? { connection: listenerOptions.connection } : undefined,
      onReplaced: () => this.#scanner.wake(),
    });
    this.#runs = new QueueListener({
      ...listenerOptions,
      account: { setting: hostQueues.setting, queue: (name) => this.#queueOf(name) },
      options: toQueueOptions(this.#queue.name, options),
      deliver: runs.deliver,
      observe: (observation) => this.#observeQueue(observation),
    });
    this.broken = Promise.race([this.#runs.broken, new Promise<unknown>((resolve) => (this.#break = resolve))]);
  }

  /** Resolves without waiting for the services: the listener retries while they are unavailable. */
  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#state.move('listening');
    await this.#runs.start(signal);
    this.#scanning = this.#scanner
      .run(this.#closing.signal, this.#cut.signal)
      .catch((error: unknown) => this.#break(error));
  }

  pause(): void {
    if (!this.#state.is('listening')) return;
    this.#state.move('paused');
    this.#runs.pause();
  }

  resume(): void {
    if (!this.#state.is('paused')) return;
    this.#state.move('listening');
    this.#runs.resume();
  }

  scale(workers: number): void {
    this.#runs.scale(workers);
  }

  async drain(deadline: AbortSignal): Promise<void> {
    if (this.#state.is('listening', 'paused')) this.#state.move('draining');
    this.#closing.abort();
    await Promise.all([untilAborted(this.#scanning, deadline), this.#runs.drain(deadline)]);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Works without a start. */
  async measure(signal: AbortSignal): Promise<Backlog> {
    const { clock, options } = this.#options;
    try {
      return await withDeadline(clock, requestTimeoutMs, signal, async (limited) => {
        const [queued, scan] = await Promise.all([this.#runs.measure(limited), this.#ownership.peek(limited)]);
        const backlog = await measureBlobs({
          queued,
          ...scan,
          container: this.#container,
          pattern: options.pattern,
          now: clock.now(),
          signal: limited,
        });
        return { ...backlog, targetPerWorker: options.maxDegreeOfParallelism };
      });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw blobUnavailable({ blob: `${this.#container.name}/*`, operation: 'measure', reason }, error);
    }
  }

  async #stop(): Promise<void> {
    this.#state.move('stopped');
    this.#closing.abort();
    const cut = (): void => this.#cut.abort(new Error('the listener was stopped'));
    const cancel = this.#options.clock.after(stopWithinMs, cut);
    await Promise.all([this.#scanning, this.#runs.stop()]);
    cancel();
  }

  /** The poison queue is in the account of the blobs, as in Azure; the queue of found versions is in that of the runtime. */
  #queueOf(name: string): StorageQueue {
    if (name === poisonQueue) return this.#options.ownQueues.queue(name);
    const queue = this.#queue;
    return {
      ...queue,
      receive: async (request, signal) => {
        const messages = await queue.receive(request, signal);
        for (const { id, text } of messages) {
          const message = parseBlobMessage(Buffer.from(text, 'base64').toString('utf8'));
          if (message) this.#blobs.set(id, message.name);
        }
        return messages;
      },
    };
  }

  /** What happens to messages of the queue is told as what happens to blobs. */
  #observeQueue(observation: QueueObservation): void {
    const { functionName, observe } = this.#options;
    switch (observation.kind) {
      // The scanner creates the queue when it has found something.
      case 'queue.missing':
      case 'queue.listener':
      case 'queue.created':
      case 'queue.received':
      case 'queue.redelivered':
        return;
      case 'queue.poisoned': {
        const { messageId, reason } = observation;
        const blob = this.#blobs.get(messageId) ?? `of message ${messageId}`;
        return observe({ kind: 'blob.poisoned', functionName, container: this.#container.name, blob, reason });
      }
      default:
        return observe(observation);
    }
  }
}

/** At most `maxDegreeOfParallelism` messages are in flight: a batch, and those that ran when it was requested. */
function toQueueOptions(queueName: string, options: BlobTriggerOptions): QueueOptions {
  const { maxDegreeOfParallelism: most, poisonBlobThreshold, leaseMs, retryBackOffMs } = options;
  const batchSize = Math.min(32, Math.ceil(most / 2));
  return {
    queueName,
    poisonQueueName: poisonQueue,
    dataType: 'text',
    batchSize,
    newBatchThreshold: most - batchSize,
    maxDequeueCount: poisonBlobThreshold,
    visibilityTimeoutMs: 0,
    maxPollingIntervalMs,
    leaseMs,
    messageEncoding: 'base64',
    retryBackOffMs,
    unknownKeys: [],
  };
}
