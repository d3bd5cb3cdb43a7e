/** What a runtime says about a worker that it lost or gave up. */
export type LossCause = 'timeout' | 'hung' | 'crash' | 'scale-down';

/** - high: no other worker serves; medium, low: others do */
export type Urgency = 'high' | 'medium' | 'low' | 'none';

export interface FailureRow {
  readonly cause: LossCause;
  /** Other workers of the application that serve. */
  readonly others: 'none' | 'some' | 'any';
  readonly urgency: Urgency;
  /** `disconnect`: its stream is closed already and its process ends now; `drain`: it finishes its invocations first. */
  readonly action: 'disconnect' | 'drain';
  /**
   * - urgent: in the same step, with any placeholder
   * - normal: in the same step, but leaves the last placeholder to an urgent request
   * - later: with the next pass of the reconcile loop
   * - none: it is not replaced
   */
  readonly replacement: 'urgent' | 'normal' | 'later' | 'none';
}

/**
 * The decision matrix of worker failures, option E: a worker that is given up is replaced at once and cleaned up afterwards. The
 * process of a crashed worker has ended by itself; without another worker its replacement is urgent, too.
 */
export const failureMatrix: readonly FailureRow[] = [
  { cause: 'timeout', others: 'some', urgency: 'low', action: 'disconnect', replacement: 'later' },
  { cause: 'timeout', others: 'none', urgency: 'high', action: 'disconnect', replacement: 'urgent' },
  { cause: 'hung', others: 'some', urgency: 'medium', action: 'disconnect', replacement: 'normal' },
  { cause: 'hung', others: 'none', urgency: 'high', action: 'disconnect', replacement: 'urgent' },
  { cause: 'crash', others: 'some', urgency: 'medium', action: 'disconnect', replacement: 'normal' },
  { cause: 'crash', others: 'none', urgency: 'high', action: 'disconnect', replacement: 'urgent' },
  { cause: 'scale-down', others: 'any', urgency: 'low', action: 'drain', replacement: 'none' },
];

/** Returns the row for a loss. */
export function failureRow(cause: LossCause, otherWorkers: number): FailureRow {
  const others = otherWorkers > 0 ? 'some' : 'none';
  const row = failureMatrix.find((each) => each.cause === cause && (each.others === others || each.others === 'any'));
  if (!row) throw new Error(`The decision matrix has no row for ${cause} with ${otherWorkers} other workers.`);
  return row;
}

/** Translates the reason of a runtime's request. Everything else than a timeout or a hang ended the worker's stream. */
export function lossCause(reason: string): LossCause {
  if (reason === 'invocation-timeout') return 'timeout';
  if (reason === 'worker-hung') return 'hung';
  return 'crash';
}
