import { BackOff, WakeUp, sleep, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import type { SourceWakeups } from '../source-wakeups.js';
import { sendCreating } from '../queue/send-creating.js';
import type { StorageQueue } from '../queue/storage-queue.js';
import { requestTimeoutMs, withDeadline } from '../requests.js';
import { ServiceEpisode } from '../storage/service-episode.js';
import {
  blobFailureOf,
  WrittenBlob,
  type BlobContainer,
  type BlobListRequest,
  type BlobPage,
  type BlobVersion,
} from './blob-container.js';
import { formatBlobMessage } from './blob-message.js';
import type { BlobTriggerOptions } from './blob-options.js';
import type { BlobObservation, ScanFailure } from './observations.js';
import { ScanOwnershipLost, type ScanOwnership } from './scan-ownership.js';
import { ScanSchedule } from './scan-schedule.js';
import { newVersions, withoutSweep, withPageDone, withQueuing, withReceipts, withSweep } from './scan-state.js';

interface BlobScannerOptions {
  readonly functionName: string;
  /** The setting with the connection of the container. */
  readonly setting: string;
  readonly container: BlobContainer;
  /** Where found versions go. */
  readonly queue: StorageQueue;
  readonly ownership: ScanOwnership;
  readonly options: BlobTriggerOptions;
  readonly wakeups: SourceWakeups;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<BlobObservation>;
}

const failureBackOff = { firstMs: 200, maxMs: 30_000, factor: 2 };
/** Limit of the service for one page. */
const pageSize = 5_000;
/** Versions between two writes of the state: after a crash so many are queued twice at most. */
const chunkSize = 200;
/** Requests to the queue at a time. */
const concurrency = 16;

type RoundOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed' }
  /** Another runtime scans, for this long at least. */
  | { readonly kind: 'elsewhere'; readonly waitMs: number };

/**
 * Finds new versions of blobs and puts them into a queue, from which all runtimes take them. Lists the container at growing intervals
 * while nothing is new, and at once when an output of this process writes to it. Errors of the services never end the loop.
 */
export class BlobScanner {
  readonly #options: BlobScannerOptions;
  readonly #news = new WakeUp();
  readonly #episode: ServiceEpisode<ScanFailure>;
  readonly #schedule: ScanSchedule;
  /** Time that listings of this sweep took. */
  #listingMs = 0;
  /** Versions of the current chunk that are in the queue, so that a failure in the middle does not queue them twice. */
  readonly #sent = new Set<string>();

  constructor(options: BlobScannerOptions) {
    this.#options = options;
    const { functionName, setting, container, clock, randomness, observe } = options;
    this.#schedule = new ScanSchedule(options.options.scanIntervalMs, randomness);
    const place = { functionName, container: container.name };
    this.#episode = new ServiceEpisode(clock, {
      failed: (failure, error) => {
        if (failure === 'container-missing') observe({ kind: 'blob.container-missing', ...place });
        else observe({ kind: 'blob.unavailable', ...place, setting, failure, error });
      },
      over: (afterMs) => observe({ kind: 'blob.available', ...place, afterMs }),
    });
  }

  /** Looks for new versions at once. */
  wake(): void {
    this.#schedule.wake();
    this.#news.notify();
  }

  /** Resolves after `closing` aborts and the request in flight has ended; `cut` aborts that, too. */
  async run(closing: AbortSignal, cut: AbortSignal): Promise<void> {
    const { clock, wakeups, container, ownership } = this.#options;
    const backOff = new BackOff(failureBackOff, this.#options);
    const unlisten = wakeups.listen(container.address, (news) => this.#hear(news));
    while (!closing.aborted) {
      this.#news.reset();
      const outcome = await this.#round(closing, cut);
      if (outcome.kind === 'done') {
        backOff.reset();
        await this.#news.wait(clock, this.#schedule.waitMs(clock.monotonicMs()), closing);
      } else {
        this.#schedule.startOver();
        const waitMs = outcome.kind === 'failed' ? backOff.nextMs() : outcome.waitMs;
        await sleep(clock, waitMs, closing).catch(() => undefined);
      }
    }
    unlisten();
    await this.#request(cut, (signal) => ownership.release(signal)).catch(() => undefined);
  }

  #hear(news: unknown): void {
    if (!(news instanceof WrittenBlob)) return this.wake();
    this.#schedule.write(news.version);
    this.#news.notify();
  }

  async #round(closing: AbortSignal, cut: AbortSignal): Promise<RoundOutcome> {
    const { ownership, clock } = this.#options;
    const written = this.#schedule.takeWritten();
    try {
      const waitMs = await this.#stored(cut, (signal) => ownership.acquire(signal));
      if (waitMs > 0) {
        this.#episode.succeeded();
        return { kind: 'elsewhere', waitMs }; // that runtime finds what was written
      }
      await this.#queueAgain(cut);
      await this.#queueNew(written, cut);
      // Only a sweep says that all services are available again.
      if (this.#schedule.isSweepDue(clock.monotonicMs())) await this.#sweep(closing, cut);
      return { kind: 'done' };
    } catch (error) {
      if (cut.aborted || error instanceof ScanOwnershipLost) return { kind: 'failed' };
      const [failure, cause] = error instanceof StepFailed ? [error.step, error.cause] : [blobFailureOf(error), error];
      this.#episode.failed(failure, cause);
      if (failure === 'refused') ownership.set(withoutSweep(ownership.state));
      if (failure !== 'container-missing') return { kind: 'failed' };
      // Outputs create containers; a listener that did would hide a misspelt name.
      this.#schedule.endSweep({ found: 0, listingMs: 0 }, clock.monotonicMs());
      return { kind: 'done' };
    }
  }

  /** Queues what a runtime was queuing when it crashed or lost its ownership. Some of it may be in the queue already. */
  async #queueAgain(cut: AbortSignal): Promise<void> {
    const { ownership, functionName, container, observe } = this.#options;
    const { queuing } = ownership.state;
    if (queuing.length === 0) return;
    const unknown = queuing.filter((blob) => !this.#sent.has(sentKey(blob)));
    if (unknown.length > 0)
      observe({ kind: 'blob.requeued', functionName, container: container.name, blobs: unknown.length });
    await this.#send(unknown, cut);
    ownership.set(withReceipts(ownership.state));
    await this.#stored(cut, (signal) => ownership.save(signal));
  }

  async #sweep(closing: AbortSignal, cut: AbortSignal): Promise<void> {
    const { container, ownership, options, functionName, clock, observe } = this.#options;
    const { prefix } = options.pattern;
    const startedMs = clock.monotonicMs();
    let [found, listed] = [0, 0];
    this.#listingMs = 0;
    this.#schedule.beginSweep();
    while (!closing.aborted) {
      const marker = ownership.state.sweep?.marker;
      const page = await this.#list({ prefix, marker, count: pageSize }, cut);
      ownership.set(withSweep(ownership.state, page));
      found += await this.#queueNew(page.blobs, cut);
      listed += page.blobs.length;
      ownership.set(withPageDone(ownership.state, page));
      // The first sweep through a large container takes long: what is done is kept for the next owner.
      if (page.next !== undefined) await this.#stored(cut, (signal) => ownership.saveChanges(signal));
      else break;
    }
    this.#episode.succeeded();
    if (!closing.aborted) ownership.swept();
    const ms = clock.monotonicMs() - startedMs;
    observe({ kind: 'blob.scanned', functionName, container: container.name, listed, found, ms });
    this.#schedule.endSweep({ found, listingMs: this.#listingMs }, clock.monotonicMs());
  }

  async #list(request: BlobListRequest, cut: AbortSignal): Promise<BlobPage> {
    const { container, clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const page = await this.#request(cut, (signal) => container.list(request, signal));
    this.#listingMs += clock.monotonicMs() - startedMs;
    return page;
  }

  async #queueNew(blobs: readonly BlobVersion[], cut: AbortSignal): Promise<number> {
    const { ownership, options } = this.#options;
    const fresh = newVersions(ownership.state, blobs).filter(({ name }) => options.pattern.match(name));
    for (let at = 0; at < fresh.length; at += chunkSize) {
      const chunk = fresh.slice(at, at + chunkSize);
      this.#sent.clear();
      ownership.set(withQueuing(ownership.state, chunk));
      await this.#stored(cut, (signal) => ownership.save(signal));
      await this.#send(chunk, cut);
      ownership.set(withReceipts(ownership.state));
      // With the last chunk: what follows is a pause. Before others, the next intent is written together with this.
      if (at + chunkSize >= fresh.length) await this.#stored(cut, (signal) => ownership.save(signal));
    }
    return fresh.length;
  }

  async #send(blobs: readonly BlobVersion[], cut: AbortSignal): Promise<void> {
    const { queue, wakeups, functionName, container } = this.#options;
    const waiting = [...blobs];
    const sendOne = async (blob: BlobVersion): Promise<void> => {
      const text = Buffer.from(formatBlobMessage(functionName, container.name, blob)).toString('base64');
      await this.#request(cut, (signal) => sendCreating(queue, { text, keep: 'for-ever' }, signal)).catch(
        failed('queue'),
      );
      this.#sent.add(sentKey(blob));
    };
    const sendWaiting = async (): Promise<void> => {
      for (let blob = waiting.shift(); blob; blob = waiting.shift()) await sendOne(blob);
    };
    try {
      // The first alone, so that a missing queue is created once.
      const first = waiting.shift();
      if (first) await sendOne(first);
      const senders = Array.from({ length: Math.min(concurrency, waiting.length) }, sendWaiting);
      for (const outcome of await Promise.allSettled(senders)) if (outcome.status === 'rejected') throw outcome.reason;
    } finally {
      if (blobs.length > 0) wakeups.wake(queue.address);
    }
  }

  /** A request to the store. ScanOwnershipLost is no failure of it. */
  #stored<T>(cut: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#request(cut, call).catch(failed('store'));
  }

  #request<T>(cut: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return withDeadline(this.#options.clock, requestTimeoutMs, cut, call);
  }
}

function sentKey({ name, etag }: BlobVersion): string {
  return `${name}\n${etag}`;
}

/** The store or the queue failed, not the container. */
class StepFailed extends Error {
  readonly step: 'store' | 'queue';

  constructor(step: 'store' | 'queue', cause: unknown) {
    super(`the ${step} failed`, { cause });
    this.step = step;
  }
}

function failed(step: 'store' | 'queue'): (error: unknown) => never {
  return (error) => {
    throw error instanceof ScanOwnershipLost ? error : new StepFailed(step, error);
  };
}
