import type { Clock } from '@drover/service-kit';
import { isEnded } from '../store/lease-holder.js';
import type { TriggerStore } from '../store/trigger-store.js';
import { newScanState, scanFromJson, scanToJson, type ScanState } from './scan-state.js';

interface ScanOwnershipOptions {
  readonly store: TriggerStore;
  readonly key: string;
  readonly place: string;
  /** Identifies this listener and its process. */
  readonly owner: string;
  readonly clock: Clock;
}

/** How long a runtime scans without a sign of life before another one may take over. */
const ownedForMs = 10_000;

/** Another runtime has written the state: what this one knows is out of date, and nothing of it may be queued. */
export class ScanOwnershipLost extends Error {}

interface Stored {
  readonly owner?: string;
  readonly until?: number;
  /** When the last sweep ended, by the clock of its runtime. */
  readonly sweptAt?: number;
  readonly scan?: Parameters<typeof scanFromJson>[0];
}

/**
 * The scan state of one trigger in the store, and the right to change it. One runtime scans at a time. Every write is a
 * compare-and-set, so a runtime that was slow and lost its ownership learns it before it queues anything; clocks only decide
 * how soon another one takes over.
 */
export class ScanOwnership {
  readonly #options: ScanOwnershipOptions;
  #held: { readonly version: string; readonly until: number } | undefined;
  #state: ScanState;
  #sweptAt: number | undefined;
  /** The state as it is in the store; another one has to be written. */
  #written: ScanState | undefined;

  constructor(options: ScanOwnershipOptions) {
    this.#options = options;
    this.#state = newScanState(options.place);
  }

  get state(): ScanState {
    return this.#state;
  }

  /** Becomes or stays the owner. Resolves with 0, or with the time until another runtime's ownership ends. */
  async acquire(signal: AbortSignal): Promise<number> {
    const { clock } = this.#options;
    if (this.#held && this.#held.until - clock.now() > ownedForMs / 2) return 0;
    if (this.#held) {
      await this.save(signal);
      return 0;
    }
    const { store, key, place, owner } = this.#options;
    const found = await store.read(key, signal);
    const stored = parse(found?.value);
    const isFree = stored.owner === undefined || stored.owner === owner || isEnded(stored.owner);
    const leftMs = isFree ? 0 : (stored.until ?? 0) - clock.now();
    // An end that is too far in the future comes from another clock.
    if (leftMs > 0) return Math.min(leftMs, ownedForMs);
    this.#state = scanFromJson(stored.scan, place);
    this.#sweptAt = stored.sweptAt;
    await this.#write(found?.version, signal);
    return 0;
  }

  /** Changes the state, in memory only. */
  set(state: ScanState): void {
    this.#state = state;
  }

  /** A sweep has ended. Written with the next change or renewal. */
  swept(): void {
    this.#sweptAt = this.#options.clock.now();
  }

  /** Writes the state and renews the ownership. Throws ScanOwnershipLost. */
  async save(signal: AbortSignal): Promise<void> {
    if (!this.#held) throw new ScanOwnershipLost('the container is scanned by another runtime');
    await this.#write(this.#held.version, signal);
  }

  /** Writes the state if it has changed. */
  async saveChanges(signal: AbortSignal): Promise<void> {
    if (this.#state !== this.#written) await this.save(signal);
  }

  /** Gives the ownership up, so that another runtime goes on at once. */
  async release(signal: AbortSignal): Promise<void> {
    if (!this.#held) return;
    const { store, key } = this.#options;
    const { version } = this.#held;
    this.#held = undefined;
    await store.write(key, JSON.stringify({ scan: scanToJson(this.#state) }), version, signal);
  }

  /** Reads the state without becoming the owner. `sweptAt` is undefined if no runtime scans. */
  async peek(signal: AbortSignal): Promise<{ readonly state: ScanState; readonly sweptAt: number | undefined }> {
    if (this.#held) return { state: this.#state, sweptAt: this.#sweptAt };
    const { store, key, place } = this.#options;
    const { owner, sweptAt, scan } = parse((await store.read(key, signal))?.value);
    return { state: scanFromJson(scan, place), sweptAt: owner === undefined || isEnded(owner) ? undefined : sweptAt };
  }

  async #write(expected: string | undefined, signal: AbortSignal): Promise<void> {
    const { store, key, owner, clock } = this.#options;
    const [state, sweptAt, until] = [this.#state, this.#sweptAt, clock.now() + ownedForMs];
    this.#held = undefined; // until the write has succeeded: after a failure the state is read again
    const version = await store.write(
      key,
      JSON.stringify({ owner, until, sweptAt, scan: scanToJson(state) }),
      expected,
      signal,
    );
    if (version === undefined) throw new ScanOwnershipLost('another runtime has changed the scan state');
    this.#held = { version, until };
    this.#written = state;
  }
}

function parse(value: string | undefined): Stored {
  if (value === undefined) return {};
  try {
    return JSON.parse(value) as Stored; // written by `#write`; all parts are optional
  } catch {
    return {};
  }
}
