/** The shape of service-kit's `Randomness`, which this package must not import. */
interface SeededRandomness {
  fraction(): number;
  uuid(): string;
  bytes(count: number): Buffer;
}

/** Returns the same sequence for the same seed. Not for secrets. */
export function seededRandomness(seed: number): SeededRandomness {
  let state = seed >>> 0;
  // A Weyl sequence with a 32-bit finalizer: sufficient for schedules and jitter.
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  };
  const bytes = (count: number): Buffer => Buffer.from(Array.from({ length: count }, () => next() & 0xff));
  return {
    fraction: () => next() / 2 ** 32,
    bytes,
    uuid() {
      const hex = bytes(16).toString('hex');
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
    },
  };
}
