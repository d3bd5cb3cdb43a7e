import { randomBytes, randomUUID } from 'node:crypto';

/** Randomness as a dependency: tests pass a seeded one. */
export interface Randomness {
  /** Returns a number from [0, 1), uniformly distributed. */
  fraction(): number;
  uuid(): string;
  /** Suitable for keys and passwords if it is `systemRandomness`. */
  bytes(count: number): Buffer;
}

export const systemRandomness: Randomness = {
  fraction: () => Math.random(),
  uuid: () => randomUUID(),
  bytes: (count) => randomBytes(count),
};
