import type { HostStream } from '../stream/host-stream.js';
import type { Invocation } from './invocation.js';

/**
 * The invocations that have begun and not ended. The host bounds their number: it sends no more than it wants answered.
 *
 * Not kept in a Map: one that is filled and emptied all the time leaves table after table behind, each of which points to the
 * next. Once one of them is old, V8 takes them all for alive, and their invocations too; that cost a fifth of the time of HTTP calls.
 */
export class InFlight {
  readonly #invocations = Object.create(null) as Record<string, Invocation>;
  #size = 0;
  /** Those that still run, though nobody waits for them: they may yet look at their signal. */
  readonly #abandoned = new Map<string, Invocation>();
  readonly #waiting = new Set<() => void>();

  get size(): number {
    return this.#size;
  }

  /** How many there are of each function, for messages. */
  get byFunction(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { loaded } of Object.values(this.#invocations)) counts[loaded.name] = (counts[loaded.name] ?? 0) + 1;
    return counts;
  }

  find(invocationId: string): Invocation | undefined {
    return this.#invocations[invocationId];
  }

  /** Finds it also when nobody waits for it any more. */
  findRunning(invocationId: string): Invocation | undefined {
    return this.#invocations[invocationId] ?? this.#abandoned.get(invocationId);
  }

  add(invocation: Invocation): void {
    if (!this.#invocations[invocation.invocationId]) this.#size++;
    this.#invocations[invocation.invocationId] = invocation;
  }

  /** Forgets an invocation. Another one of the same id, from another stream, stays. */
  remove(invocation: Invocation): void {
    const { invocationId } = invocation;
    if (this.#abandoned.size > 0 && this.#abandoned.get(invocationId) === invocation)
      this.#abandoned.delete(invocationId);
    if (this.#invocations[invocationId] !== invocation) return;
    delete this.#invocations[invocationId];
    this.#size--;
    if (this.#size > 0 || this.#waiting.size === 0) return;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /** Tells all to stop. */
  cancelAll(reason: string): void {
    for (const invocation of Object.values(this.#invocations)) invocation.cancel(reason);
  }

  /** Tells those to stop whose answer nobody can hear any more, and does not count them further. */
  abandon(stream: HostStream, reason: string): number {
    const lost = Object.values(this.#invocations).filter((invocation) => invocation.stream === stream);
    for (const invocation of lost) {
      invocation.cancel(reason);
      this.remove(invocation);
      this.#abandoned.set(invocation.invocationId, invocation);
    }
    return lost.length;
  }

  /** Resolves when there are none. */
  idle(): Promise<void> {
    if (this.#size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add(resolve));
  }
}
