import { allPartitions, type OwnerDirectory } from '@drover/ownership';
import { forwardedHeader } from './forward-headers.js';

export interface PeerReplicasOptions {
  readonly owners: Pick<OwnerDirectory, 'locate'>;
  readonly replicaId: string;
  readonly timeoutMs?: number;
}

/** The answer of another replica; undefined when it did not answer in time. */
export type PeerAnswer = { readonly status: number; readonly body: unknown } | undefined;

const defaultTimeoutMs = 5_000;

/** Sends requests to other replicas on behalf of a caller, with the credentials of the caller. */
export class PeerReplicas {
  readonly #options: PeerReplicasOptions;

  constructor(options: PeerReplicasOptions) {
    this.#options = options;
  }

  /** Returns the URLs of all other owners. */
  urls(): readonly string[] {
    const urls = new Set<string>();
    for (const partition of allPartitions) {
      const location = this.#options.owners.locate(partition);
      if (location.kind === 'remote') urls.add(location.url);
    }
    return [...urls];
  }

  /** Returns the URL of the owner of a partition; undefined when this replica owns it or the owner is unknown. */
  urlOf(partition: number): string | undefined {
    const location = this.#options.owners.locate(partition);
    return location.kind === 'remote' ? location.url : undefined;
  }

  /** Requests `address` from the peer at `url`. */
  async ask(
    url: string,
    address: string,
    { method, authorization }: { readonly method: string; readonly authorization: string | undefined },
  ): Promise<PeerAnswer> {
    const { replicaId, timeoutMs = defaultTimeoutMs } = this.#options;
    try {
      const response = await fetch(new URL(address, url), {
        method,
        headers: { [forwardedHeader]: replicaId, ...(authorization !== undefined && { authorization }) },
        signal: AbortSignal.timeout(timeoutMs),
        redirect: 'error',
      });
      return { status: response.status, body: await response.json() };
    } catch {
      return undefined; // the peer has failed or is about to; the caller continues without it
    }
  }
}
