import { type OwnerDirectory, partitionCount } from '@drover/ownership';
import { forwardedHeader } from './forward-headers.js';

export interface PeerReplicasOptions {
  readonly owners: Pick<OwnerDirectory, 'locate'>;
  readonly replicaId: string;
  readonly timeoutMs?: number;
}

/** What another replica said, or nothing when it did not answer in time. */
export type PeerAnswer = { readonly status: number; readonly body: unknown } | undefined;

const shippedTimeoutMs = 5_000;

/** Asks other replicas on behalf of a caller, with the caller's own credentials. */
export class PeerReplicas {
  readonly #options: PeerReplicasOptions;

  constructor(options: PeerReplicasOptions) {
    this.#options = options;
  }

  /** Where the other owners are. */
  urls(): readonly string[] {
    const urls = new Set<string>();
    for (let partition = 0; partition < partitionCount; partition += 1) {
      const location = this.#options.owners.locate(partition);
      if (location.kind === 'remote') urls.add(location.url);
    }
    return [...urls];
  }

  /** The home of a partition, when it is another replica. */
  urlOf(partition: number): string | undefined {
    const location = this.#options.owners.locate(partition);
    return location.kind === 'remote' ? location.url : undefined;
  }

  async ask(
    url: string,
    address: string,
    { method, authorization }: { readonly method: string; readonly authorization: string | undefined },
  ): Promise<PeerAnswer> {
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
