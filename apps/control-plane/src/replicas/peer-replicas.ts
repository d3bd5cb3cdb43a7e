import { CodedError } from '@drover/contracts';
import { allPartitions, type OwnerDirectory } from '@drover/ownership';
import { ownerMoving } from '../executions/errors.js';
import { ownerUnreachable } from './errors.js';
import { forwardedHeader } from './forward-headers.js';

export interface PeerReplicasOptions {
  readonly owners: Pick<OwnerDirectory, 'locate' | 'waitForOwner'>;
  readonly replicaId: string;
  readonly timeoutMs?: number;
}

/** The answer of another replica; undefined when it did not answer in time. */
export type PeerAnswer = { readonly status: number; readonly body: unknown } | undefined;

/** A request that is to be repeated at another replica. */
export interface PeerRequest {
  readonly method: string;
  /** Path and query. */
  readonly address: string;
  readonly authorization: string | undefined;
  /** Another replica has sent it here: it is not sent on. */
  readonly isForwarded: boolean;
}

const defaultTimeoutMs = 5_000;
/** A purge waits until the ends of many executions are durable. */
const ownerTimeoutMs = 30_000;
/** How long a request waits for a partition that is changing its owner. */
const settleWithinMs = 5_000;

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

  /**
   * Serves a request about a partition where the partition is owned: here by `serve`, or by the owner, whose answer is returned. Throws
   * the owner's error, or `EXECUTION_HOME_MOVING` when there is no owner to ask.
   */
  async atOwner<Reply extends { readonly status: number; readonly body: unknown }>(
    partition: number,
    { method, address, authorization, isForwarded }: PeerRequest,
    serve: () => Promise<Reply>,
  ): Promise<Reply> {
    const location = await this.#options.owners.waitForOwner(partition, settleWithinMs);
    if (location.kind === 'local') return serve();
    if (location.kind === 'moving' || isForwarded) throw ownerMoving({});
    const answer = await this.ask(location.url, address, { method, authorization }, ownerTimeoutMs);
    if (!answer) throw ownerUnreachable({ url: location.url, reason: 'it did not answer' });
    if (answer.status < 400) return answer as Reply; // the owner serves the same route
    const { error = 'INTERNAL_ERROR', message = '' } = answer.body as {
      readonly error?: string;
      readonly message?: string;
    };
    const retryable = answer.status === 429 || answer.status >= 500;
    throw new CodedError(
      error,
      { fault: retryable ? 'platform' : 'caller', retryable, status: answer.status },
      message,
      {},
    );
  }

  /** Requests `address` from the peer at `url`. */
  async ask(
    url: string,
    address: string,
    { method, authorization }: Pick<PeerRequest, 'method' | 'authorization'>,
    timeoutMs = this.#options.timeoutMs ?? defaultTimeoutMs,
  ): Promise<PeerAnswer> {
    const { replicaId } = this.#options;
    try {
      const response = await fetch(new URL(address, url), {
        method,
        headers: { [forwardedHeader]: replicaId, ...(authorization !== undefined && { authorization }) },
        signal: AbortSignal.timeout(timeoutMs),
        redirect: 'error',
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
    } catch {
      return undefined; // the peer has failed or is about to; the caller continues without it
    }
  }
}
