/** The state of a lease in the store. */
interface LeaseRecord {
  /** Empty after a release. */
  readonly holder: string;
  /** Differs for each write, by which a holder recognizes a write whose answer was lost. */
  readonly write: string;
  /** What the lease protects. */
  readonly state: string | undefined;
}

export function encodeLease(record: LeaseRecord): string {
  return JSON.stringify(record);
}

/** A text that is no record counts as held, by an unknown holder and without a state: it is taken over like any silent one. */
export function parseLease(value: string): LeaseRecord {
  const unknown: LeaseRecord = { holder: 'unknown', write: '', state: undefined };
  try {
    const parsed: unknown = JSON.parse(value);
    if (typeof parsed !== 'object' || parsed === null) return unknown;
    const { holder, write, state } = parsed as Partial<Record<string, unknown>>; // checked below
    if (typeof holder !== 'string' || typeof write !== 'string') return unknown;
    return { holder, write, state: typeof state === 'string' ? state : undefined };
  } catch {
    return unknown;
  }
}
