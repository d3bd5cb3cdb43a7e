import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Randomness } from '@drover/service-kit';

/**
 * Tokens that authorize a runtime to complete an attempt. A token is part of the URL of the attempt, so that the runtime needs no API key.
 * It is valid for one attempt of one execution, as long as this process lives.
 */
export class AttemptTokens {
  readonly #key: Buffer;

  constructor(randomness: Pick<Randomness, 'bytes'>) {
    this.#key = randomness.bytes(32);
  }

  make(executionId: string, attempt: number): string {
    return `${attempt}.${this.#sign(executionId, attempt).toString('base64url')}`;
  }

  /** Returns the number of the attempt that the token authorizes, or undefined when it is not valid for the execution. */
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
