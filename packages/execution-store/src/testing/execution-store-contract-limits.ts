/** Limits of the stores under test, unless the test is about them. */
export const contractLimits = { ttlMs: 60_000, deadLetterTtlMs: 600_000, maxBytes: 10_000_000 };
export type ContractLimits = typeof contractLimits;
