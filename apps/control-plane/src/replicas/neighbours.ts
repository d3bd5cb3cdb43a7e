import { type HomeDirectory, partitionCount } from '@drover/ownership';
import { forwardedHeader } from './forward-headers.js';

export interface NeighboursOptions {
  readonly homes: Pick<HomeDirectory, 'locate'>;
  readonly replicaId: string;
  readonly timeoutMs?: number;
}

/** What another replica said, or nothing when it did not answer in time. */
export type NeighbourAnswer = { readonly status: number; readonly body: unknown } | undefined;

const shippedTimeoutMs = 5_000;

/** Asks other replicas on behalf of a caller, with the caller's own credentials. */
export class Neighbours {
  readonly #options: NeighboursOptions;

  constructor(options: NeighboursOptions) {
    this.#options = options;
  }

  /** Where the other homes are. */
  urls(): readonly string[] {
    const urls = new Set<string>();
    for (let partition = 0; partition < partitionCount; partition += 1) {
      const location = this.#options.homes.locate(partition);
      if (location.kind === 'there') urls.add(location.url);
    }
    return [...urls];
  }

  /** The home of a partition, when it is another replica. */
  urlOf(partition: number): string | undefined {
    const location = this.#options.homes.locate(partition);
    return location.kind === 'there' ? location.url : undefined;
  }

  async ask(
    url: string,
    address: string,
    { method, authorization }: { readonly method: string; readonly authorization: string | undefined },
  ): Promise<NeighbourAnswer> {
    const { replicaId, timeoutMs = shippedTimeoutMs } = this.#options;
    try {
      const response = await fetch(new URL(address, url), {
        method,
        headers: { [forwardedHeader]: replicaId, ...(authorization !== undefined && { authorization }) },
        signal: AbortSignal.timeout(timeoutMs),
        redirect: 'error',
      });
      return { status: response.status, body: await response.json() };
    } catch {
      return undefined; // it is gone or about to be; whoever asks goes on without it
    }
  }
}
