import type { Lifecycle } from '@drover/service-kit';
import { here, type OwnerDirectory, type OwnershipListener, type OwnerLocation } from './owner-directory.js';
import { partitionCount, type FencingTokens } from './partitions.js';

const allPartitions: readonly number[] = Array.from({ length: partitionCount }, (_, partition) => partition);
const soleToken = 1;

/** One process alone, without a database: it is the home of everything. */
export class SoleOwner implements Lifecycle, FencingTokens, OwnerDirectory {
  readonly name = 'sole owner';
  readonly #listener: OwnershipListener;

  constructor({ listener }: { readonly listener: OwnershipListener }) {
    this.#listener = listener;
  }

  async start(): Promise<void> {
    await this.#listener.acquired(allPartitions);
  }

  async drain(deadline: AbortSignal): Promise<void> {
    await this.#listener.releasing(allPartitions, deadline);
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  locate(): OwnerLocation {
    return here;
  }

  waitForOwner(): Promise<OwnerLocation> {
    return Promise.resolve(here);
  }

  tokenOf(): number {
    return soleToken;
  }

  refresh(): void {}
}
