import { Deque } from './deque.js';

/** Whatever waits for its turn. Each is in the ring once. */
export interface RingMember {
  readonly tenantId: string;
  isInRing: boolean;
}

/**
 * Whose turn it is: tenants in turn, and each tenant's members in turn. A tenant with a thousand members gets as many turns as
 * one with a single member. Adding and taking cost the same however many there are.
 */
export class FairRing<Member extends RingMember> {
  readonly #tenants = new Deque<string>();
  /** Tenants with at least one member in the ring. */
  readonly #members = new Map<string, Deque<Member>>();
  /** A line that became empty, for the next tenant: most of the time one comes and goes. */
  #spare: Deque<Member> | undefined;

  get isEmpty(): boolean {
    return this.#tenants.size === 0;
  }

  /** At the end of its tenant's line; where it is already in the ring, it keeps its place. */
  add(member: Member): void {
    if (member.isInRing) return;
    member.isInRing = true;
    const own = this.#members.get(member.tenantId);
    if (own) return own.push(member);
    const line = this.#spare ?? new Deque<Member>();
    this.#spare = undefined;
    line.push(member);
    this.#members.set(member.tenantId, line);
    this.#tenants.push(member.tenantId);
  }

  /** The next in turn, out of the ring: whoever has more to do is added again. */
  take(): Member | undefined {
    const tenantId = this.#tenants.shift();
    if (tenantId === undefined) return undefined;
    const line = this.#members.get(tenantId);
    const member = line?.shift();
    if (line && line.size > 0) this.#tenants.push(tenantId);
    else {
      this.#members.delete(tenantId);
      this.#spare = line;
    }
    if (member) member.isInRing = false;
    return member;
  }
}
