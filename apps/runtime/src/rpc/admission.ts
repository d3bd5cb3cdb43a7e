import { timingSafeEqual } from 'node:crypto';
import type { Peer } from '@drover/function-rpc';

/** What a worker was started for, beyond its application. */
export interface WorkerTraits {
  /** It runs one invocation at a time, of those that may have ended another worker. */
  readonly isIsolated: boolean;
  /** A debugger may halt it: no time limit applies to it. */
  readonly isDebugged: boolean;
  /**
   * A scale controller started it, without the environment of an application: it gets that from the runtime. A runtime that was
   * restarted expects it again, with the same request id.
   */
  readonly isManaged: boolean;
}

const ordinary: WorkerTraits = { isIsolated: false, isDebugged: false, isManaged: false };

/** A worker process that was started and has not connected yet. */
export interface ExpectedWorker {
  readonly workerId: string;
  /** One-time secret: valid for a single stream. */
  readonly requestId: string;
  /** Undefined for a placeholder. */
  readonly applicationKey: string | undefined;
  readonly traits?: WorkerTraits;
  /** When its process was about to be started, on the monotonic clock. */
  readonly announcedMs?: number;
}

type AdmissionDecision =
  | {
      readonly kind: 'admitted';
      readonly applicationKey: string | undefined;
      readonly traits: WorkerTraits;
      readonly announcedMs: number | undefined;
    }
  | { readonly kind: 'refused'; readonly reason: string };

/** URI names of certificates: `drover://<tenant>/<application key or "-">/<worker id>`. */
const uriName = /^drover:\/\/([^/]+)\/([^/]+)\/([^/]+)$/;

/**
 * Decides which workers may open a stream. On loopback, a worker must be expected and present its request id, which its first
 * stream uses up. On the network, the certificate must name the worker id, so a worker cannot claim the id of another.
 */
export class Admission {
  readonly #expected = new Map<string, ExpectedWorker>();
  /** Called when the worker with this id is announced. */
  readonly #awaited = new Map<string, () => void>();

  expect(worker: ExpectedWorker): void {
    this.#expected.set(worker.workerId, worker);
    this.#awaited.get(worker.workerId)?.();
  }

  /** Calls back when a worker is announced that has connected already. Returns the function that cancels it. */
  whenExpected(workerId: string, callback: () => void): () => void {
    this.#awaited.set(workerId, callback);
    return () => {
      if (this.#awaited.get(workerId) === callback) this.#awaited.delete(workerId);
    };
  }

  /** Call when the process ended before it connected. */
  withdraw(workerId: string): void {
    this.#expected.delete(workerId);
  }

  /** Whether a worker was announced and has not connected yet. */
  isExpected(workerId: string): boolean {
    return this.#expected.has(workerId);
  }

  decide(peer: Peer, workerId: string, requestId: string): AdmissionDecision {
    return peer.kind === 'tls'
      ? decideByCertificate(peer.certificate.uriNames, workerId)
      : this.#decideByRequestId(workerId, requestId);
  }

  #decideByRequestId(workerId: string, requestId: string): AdmissionDecision {
    const expected = this.#expected.get(workerId);
    if (!expected || !isSame(expected.requestId, requestId))
      return { kind: 'refused', reason: 'no worker with this id and this request id is expected' };
    this.#expected.delete(workerId);
    const { applicationKey, traits = ordinary, announcedMs } = expected;
    return { kind: 'admitted', applicationKey, traits, announcedMs };
  }
}

function decideByCertificate(names: readonly string[], workerId: string): AdmissionDecision {
  for (const name of names) {
    const [, , application = '', certified] = uriName.exec(name) ?? [];
    if (certified !== undefined && decodeURIComponent(certified) === workerId)
      return {
        kind: 'admitted',
        applicationKey: application === '-' ? undefined : decodeURIComponent(application),
        traits: ordinary,
        announcedMs: undefined,
      };
  }
  return { kind: 'refused', reason: 'the certificate does not name this worker id' };
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
