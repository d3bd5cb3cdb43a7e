import type { Lifecycle } from '@drover/service-kit';
import { localOwner, type OwnerDirectory, type OwnerLocation } from './owner-directory.js';
import { OwnershipListeners, type OwnershipListener } from './ownership-listener.js';
import { allPartitions, type FencingTokens } from './partitions.js';

/** There is no other owner, so the token never grows. */
const soleToken = 1;

/** Owns every partition without a database, for a control plane of one process whose executions live in memory. */
export class SoleOwner implements Lifecycle, FencingTokens, OwnerDirectory {
  readonly name = 'sole owner';
  readonly #listeners = new OwnershipListeners();
  #isRecovered = false;

  /** Adds a listener; call it before `start`. */
  addListener(listener: OwnershipListener): void {
    this.#listeners.add(listener);
  }

  /** There are no other replicas. */
  onReplicaGone(): void {}

  async start(): Promise<void> {
    await this.#listeners.acquired(allPartitions);
    this.#isRecovered = true;
  }

  async drain(deadline: AbortSignal): Promise<void> {
    await this.#listeners.releasing(allPartitions, deadline);
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  locate(): OwnerLocation {
    return localOwner;
  }

  waitForOwner(): Promise<OwnerLocation> {
    return Promise.resolve(localOwner);
  }

  tokenOf(): number {
    return soleToken;
  }

  heldTokenOf(): number {
    return soleToken;
  }

  problem(): string | undefined {
    return this.#isRecovered ? undefined : 'the queues of functions are being recovered';
  }

  refresh(): void {}
}
