import { timingSafeEqual } from 'node:crypto';
import type { Peer } from '@drover/function-rpc';

/** A worker that is expected: what it was started for, and the word it has to say. */
export interface Announcement {
  readonly workerId: string;
  /** Good for one stream. */
  readonly requestId: string;
  /** Undefined: a placeholder. */
  readonly applicationKey: string | undefined;
}

/** Who may come in, and what for. */
export type Verdict =
  | { readonly kind: 'welcome'; readonly applicationKey: string | undefined }
  | { readonly kind: 'refused'; readonly reason: string };

/** Worker ids of certificates: `drover://<tenant>/<application key or "-">/<worker id>`. */
const uriName = /^drover:\/\/([^/]+)\/([^/]+)\/([^/]+)$/;

/**
 * Knows which workers may open a stream. On loopback that is a process we were told about, and its request id is used up by
 * its first stream. On the network it is whoever a certificate of our authority names: a worker cannot claim another's id.
 */
export class Admission {
  readonly #announced = new Map<string, Announcement>();

  announce(announcement: Announcement): void {
    this.#announced.set(announcement.workerId, announcement);
  }

  /** It will not come any more. */
  withdraw(workerId: string): void {
    this.#announced.delete(workerId);
  }

  judge(peer: Peer, workerId: string, requestId: string): Verdict {
    return peer.kind === 'tls'
      ? judgeCertificate(peer.certificate.uriNames, workerId)
      : this.#judgeAnnounced(workerId, requestId);
  }

  #judgeAnnounced(workerId: string, requestId: string): Verdict {
    const expected = this.#announced.get(workerId);
    if (!expected || !isSame(expected.requestId, requestId))
      return { kind: 'refused', reason: 'nobody announced a worker with this id and this request id' };
    this.#announced.delete(workerId);
    return { kind: 'welcome', applicationKey: expected.applicationKey };
  }
}

function judgeCertificate(names: readonly string[], workerId: string): Verdict {
  for (const name of names) {
    const [, , application = '', owner] = uriName.exec(name) ?? [];
    if (owner !== undefined && decodeURIComponent(owner) === workerId)
      return { kind: 'welcome', applicationKey: application === '-' ? undefined : decodeURIComponent(application) };
  }
  return { kind: 'refused', reason: 'its certificate is for another worker' };
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
