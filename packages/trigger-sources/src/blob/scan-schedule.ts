import type { Randomness } from '@drover/service-kit';
import { pollWaitMs } from '../queue/poll-schedule.js';
import type { BlobVersion } from './blob-container.js';

/** Listings that take longer are followed by a pause of four times their duration. A small container is scanned whenever it changes. */
const shortListingMs = 500;
const restPerWork = 4;
const longestRestMs = 60_000;
/** Bound of the versions that are known without a listing; beyond it, the container is listed. */
const mostWritten = 1_000;

/** Decides when a container is listed: at growing intervals while nothing is new, and at once after a wake-up. Times are monotonic. */
export class ScanSchedule {
  readonly #longestMs: number;
  readonly #randomness: Pick<Randomness, 'fraction'>;
  #idleInARow = 0;
  /** Woken since the last sweep began, which may have passed what is new. */
  #isWoken = false;
  #restUntilMs = 0;
  #nextSweepMs = 0;
  #written: BlobVersion[] = [];

  constructor(longestMs: number, randomness: Pick<Randomness, 'fraction'>) {
    this.#longestMs = longestMs;
    this.#randomness = randomness;
  }

  /** Something is new in the container, and it is not known what. */
  wake(): void {
    this.#idleInARow = 0;
    this.#isWoken = true;
    this.#nextSweepMs = this.#restUntilMs;
  }

  /** An output of this process wrote a version: no listing is needed to find it. */
  write(version: BlobVersion): void {
    if (this.#written.length >= mostWritten) this.wake();
    else this.#written.push(version);
  }

  /** Returns versions that outputs wrote, once. */
  takeWritten(): readonly BlobVersion[] {
    const written = this.#written;
    if (written.length > 0) this.#written = [];
    return written;
  }

  isSweepDue(nowMs: number): boolean {
    return nowMs >= this.#nextSweepMs;
  }

  beginSweep(): void {
    this.#isWoken = false;
  }

  endSweep({ found, listingMs }: { readonly found: number; readonly listingMs: number }, nowMs: number): void {
    this.#idleInARow = found > 0 ? 1 : this.#idleInARow + 1;
    const restMs = listingMs < shortListingMs ? 0 : Math.min(longestRestMs, restPerWork * listingMs);
    const pauseMs = pollWaitMs(this.#idleInARow, this.#longestMs, this.#randomness);
    this.#restUntilMs = nowMs + restMs;
    this.#nextSweepMs = this.#isWoken ? this.#restUntilMs : nowMs + Math.max(restMs, pauseMs);
  }

  /** After a failure it is not known what was found. */
  startOver(): void {
    this.#nextSweepMs = 0;
  }

  waitMs(nowMs: number): number {
    return Math.max(0, this.#nextSweepMs - nowMs);
  }
}
