import type { Lifecycle } from '@drover/service-kit';
import { here, type HomeDirectory, type HomeListener, type Location } from './location.js';
import { partitionCount, type Fences } from './partitions.js';

const allPartitions: readonly number[] = Array.from({ length: partitionCount }, (_, partition) => partition);
const soleToken = 1;

/** One process alone, without a database: it is the home of everything. */
export class SoleHome implements Lifecycle, Fences, HomeDirectory {
  readonly name = 'homes';
  readonly #listener: HomeListener;

  constructor({ listener }: { readonly listener: HomeListener }) {
    this.#listener = listener;
  }

  async start(): Promise<void> {
    await this.#listener.gained(allPartitions);
  }

  async drain(deadline: AbortSignal): Promise<void> {
    await this.#listener.leaving(allPartitions, deadline);
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  locate(): Location {
    return here;
  }

  whenSettled(): Promise<Location> {
    return Promise.resolve(here);
  }

  tokenOf(): number {
    return soleToken;
  }

  lookAgain(): void {}
}
