/** Restricts a fault to one life of the worker, counted from 1 over all starts of the driver; all lives by default. */
interface InLife {
  readonly life?: number;
}

/** Selects a message of a life, counted from 1 per direction without `ready`. */
interface OfMessage extends InLife {
  readonly direction: 'to-worker' | 'to-host';
  /** `ready` is the message of a worker that has started. */
  readonly message: number | 'ready';
}

/** One thing that goes wrong. */
export type Fault =
  /** The first `times` starts fail, as if the system could not create another process. */
  | { readonly kind: 'refuse-spawn'; readonly times: number }
  /** The worker is killed when it is about to report that it is ready. */
  | ({ readonly kind: 'kill-before-ready' } & InLife)
  /** The worker is killed when it receives its n-th request, which is never answered. */
  | ({ readonly kind: 'kill-at-request'; readonly request: number } & InLife)
  /** The end of the worker is reported late. */
  | ({ readonly kind: 'delay-exit'; readonly byMs: number } & InLife)
  /** Messages of the worker are delayed by `withinMs`. An end in that time is reported before them. */
  | ({ readonly kind: 'exit-overtakes'; readonly withinMs: number } & InLife)
  /** The worker is killed with its n-th response in transit, which arrives after the report of its end. */
  | ({ readonly kind: 'answer-after-death'; readonly answer: number } & InLife)
  | ({ readonly kind: 'drop-message' } & OfMessage)
  | ({ readonly kind: 'duplicate-message' } & OfMessage)
  | ({ readonly kind: 'delay-message'; readonly byMs: number } & OfMessage)
  /** The driver reports no capabilities. */
  | { readonly kind: 'no-capabilities' };

/** The faults of a driver: plain data, and deterministic. */
export type FaultPlan = readonly Fault[];

/** A fault that happened. */
export interface InjectedFault {
  readonly kind: Fault['kind'];
  readonly life: number;
  /** The request, answer or message it was about. */
  readonly at?: number | 'ready';
}

/** Returns the faults of a kind that apply to one life. */
export function faultsOf<Kind extends Fault['kind']>(
  plan: FaultPlan,
  kind: Kind,
  life: number,
): Extract<Fault, { kind: Kind }>[] {
  return plan.filter(
    (fault): fault is Extract<Fault, { kind: Kind }> =>
      fault.kind === kind && (!('life' in fault) || fault.life === undefined || fault.life === life),
  );
}
