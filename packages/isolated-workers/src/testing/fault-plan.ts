/** Where a fault happens; in every life of the worker unless one is named, counted from 1 over all starts of the driver. */
interface InLife {
  readonly life?: number;
}

/** Which message of a life; counted from 1 for each direction, `ready` not among them. */
interface OfMessage extends InLife {
  readonly direction: 'to-worker' | 'to-host';
  /** `ready` is what a worker says when it has started. */
  readonly message: number | 'ready';
}

/** One thing that goes wrong. */
export type Fault =
  /** The first `times` starts fail, as if the system had no room for another process. */
  | { readonly kind: 'refuse-spawn'; readonly times: number }
  /** The worker is killed when it is about to say that it is ready. */
  | ({ readonly kind: 'kill-before-ready' } & InLife)
  /** The worker is killed when it is given its n-th request, which is never answered. */
  | ({ readonly kind: 'kill-at-request'; readonly request: number } & InLife)
  /** The end of the worker is reported late. */
  | ({ readonly kind: 'delay-exit'; readonly byMs: number } & InLife)
  /** What the worker sends is held back for a moment; an end within it is reported first, what was held back after it. */
  | ({ readonly kind: 'exit-overtakes'; readonly withinMs: number } & InLife)
  /** The worker is killed when its n-th answer is on its way, which arrives after the report of its end. */
  | ({ readonly kind: 'answer-after-death'; readonly answer: number } & InLife)
  | ({ readonly kind: 'drop-message' } & OfMessage)
  | ({ readonly kind: 'duplicate-message' } & OfMessage)
  | ({ readonly kind: 'delay-message'; readonly byMs: number } & OfMessage)
  /** The driver says that it can do nothing of what drivers may be able to do. */
  | { readonly kind: 'no-capabilities' };

/** All that goes wrong with a driver: plain data, and the same each time. */
export type FaultPlan = readonly Fault[];

/** A fault that happened. */
export interface InjectedFault {
  readonly kind: Fault['kind'];
  readonly life: number;
  /** The request, answer or message it was about. */
  readonly at?: number | 'ready';
}

/** The faults of a plan that concern one life. */
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
