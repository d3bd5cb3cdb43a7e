import { Deque } from './deque.js';

/** A member waits for its turn. It is in the ring at most once. */
export interface RingMember {
  readonly tenantId: string;
  isInRing: boolean;
}

/**
 * Round robin over tenants, and within a tenant over its members. A tenant with a thousand members gets as many turns as a tenant with
 * one. `add` and `next` take constant time.
 */
export class FairRing<Member extends RingMember> {
  readonly #tenants = new Deque<string>();
  /** Tenants with at least one member in the ring. */
  readonly #members = new Map<string, Deque<Member>>();
  /** An emptied deque for the next tenant: mostly one tenant comes and goes. */
  #spare: Deque<Member> | undefined;

  /** Adds the member behind the others of its tenant. A member that is in the ring keeps its place. */
  add(member: Member): void {
    if (member.isInRing) return;
    member.isInRing = true;
    const own = this.#members.get(member.tenantId);
    if (own) return own.push(member);
    const members = this.#spare ?? new Deque<Member>();
    this.#spare = undefined;
    members.push(member);
    this.#members.set(member.tenantId, members);
    this.#tenants.push(member.tenantId);
  }

  /** Removes and returns the member whose turn it is. The caller adds it again if it has more to do. */
  next(): Member | undefined {
    const tenantId = this.#tenants.shift();
    if (tenantId === undefined) return undefined;
    const members = this.#members.get(tenantId);
    const member = members?.shift();
    if (members && members.size > 0) this.#tenants.push(tenantId);
    else {
      this.#members.delete(tenantId);
      this.#spare = members;
    }
    if (member) member.isInRing = false;
    return member;
  }
}
