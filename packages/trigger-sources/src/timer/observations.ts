import { count, type Readers } from '@drover/service-kit';

interface OfTimer {
  readonly functionName: string;
}

export type TimerObservation =
  | (OfTimer & { readonly kind: 'timer.listener'; readonly state: string })
  /** This runtime runs the timer from now on. */
  | (OfTimer & { readonly kind: 'timer.scheduled'; readonly next: string; readonly isMonitored: boolean })
  | (OfTimer & { readonly kind: 'timer.started'; readonly isPastDue: boolean; readonly lateMs: number })
  /** No function worker could run it, or it was lost while it ran: the occurrence runs again. */
  | (OfTimer & { readonly kind: 'timer.redelivered'; readonly deliveryCount: number })
  /** Stopped, or the lease was lost: the occurrence runs again where the timer starts next, if it is monitored. */
  | (OfTimer & { readonly kind: 'timer.interrupted' })
  /** A defect: `deliver` must not reject. */
  | (OfTimer & { readonly kind: 'timer.delivery-threw'; readonly error: unknown })
  | (OfTimer & { readonly kind: 'timer.clock-set-back'; readonly next: string });

const byFunction = {
  labelNames: ['function'],
  labels: (o: OfTimer) => ({ function: o.functionName }),
} as const;

export const timerReaders: Readers<TimerObservation> = {
  'timer.listener': { level: 'debug', say: (o) => `the timer of ${o.functionName} is ${o.state}` },
  'timer.scheduled': {
    level: 'debug',
    say: (o) =>
      `the timer of ${o.functionName} runs here; next at ${o.next}${o.isMonitored ? '' : ' (not monitored: a missed occurrence is left out)'}`,
  },
  'timer.started': {
    level: (o) => (o.isPastDue ? 'info' : 'debug'),
    say: (o) =>
      o.isPastDue
        ? `the timer of ${o.functionName} is past due by ${Math.round(o.lateMs / 1_000)} s and runs now`
        : `the timer of ${o.functionName} is due`,
    metrics: [
      count('drover_timer_runs_total', 'Occurrences of timers that ran', byFunction),
      count<OfTimer & { readonly isPastDue: boolean }, 'function'>(
        'drover_timer_past_due_total',
        'Occurrences of timers that were missed and ran late',
        { ...byFunction, value: (o) => (o.isPastDue ? 1 : 0) },
      ),
    ],
  },
  'timer.redelivered': {
    level: 'warn',
    say: (o) =>
      `the timer of ${o.functionName} runs again (delivery ${o.deliveryCount}): no function worker finished it`,
    metrics: [count('drover_timer_redelivered_total', 'Occurrences of timers that were delivered again', byFunction)],
  },
  'timer.interrupted': {
    level: 'warn',
    say: (o) => `the timer of ${o.functionName} was interrupted while it ran`,
    metrics: [count('drover_timer_interrupted_total', 'Occurrences of timers that were interrupted', byFunction)],
  },
  'timer.delivery-threw': {
    level: 'error',
    say: (o) => `the timer of ${o.functionName} could not be delivered: ${String(o.error)}`,
  },
  'timer.clock-set-back': {
    level: 'warn',
    say: (o) => `the clock was set back by more than an hour; the timer of ${o.functionName} is due at ${o.next}`,
  },
};
