import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Randomness } from '@drover/service-kit';

/**
 * Proof that somebody was given an attempt to run: part of the address at which its result is handed back, so that a runtime
 * needs no key of ours. Good for one attempt of one execution, as long as this process lives.
 */
export class AttemptTokens {
  readonly #key: Buffer;

  constructor(randomness: Pick<Randomness, 'bytes'>) {
    this.#key = randomness.bytes(32);
  }

  make(executionId: string, attempt: number): string {
    return `${attempt}.${this.#sign(executionId, attempt).toString('base64url')}`;
  }

  /** The attempt that the token is good for; nothing when it is good for none of this execution. */
  attemptOf(token: string, executionId: string): number | undefined {
    const [, number = '', proof = ''] = /^(\d{1,9})\.([\w-]{43})$/.exec(token) ?? [];
    const given = Buffer.from(proof, 'base64url');
    const attempt = Number(number);
    const expected = this.#sign(executionId, attempt);
    return given.length === expected.length && timingSafeEqual(given, expected) ? attempt : undefined;
  }

  #sign(executionId: string, attempt: number): Buffer {
    return createHmac('sha256', this.#key).update(`${executionId}/${attempt}`).digest();
  }
}
