import { count, seconds, type Readers } from '../observations/observation.js';

export type SupervisedProcessObservation =
  | { readonly kind: 'up.ready'; readonly role: string; readonly pid: number; readonly durationMs: number }
  | { readonly kind: 'up.lost'; readonly role: string; readonly reason: string; readonly delayMs: number };

export const supervisedProcessReaders: Readers<SupervisedProcessObservation> = {
  'up.ready': {
    level: 'info',
    isInternal: true,
    say: (o) => `${o.role} became ready in ${(o.durationMs / 1000).toFixed(1)} s (process ${o.pid})`,
    metrics: [
      seconds('drover_up_start_seconds', 'Time from the start of a process until it is ready', {
        labelNames: ['role'],
        labels: (o) => ({ role: o.role }),
        valueMs: (o) => o.durationMs,
      }),
    ],
  },
  'up.lost': {
    level: 'warn',
    say: (o) => `${o.role} exited (${o.reason}) and restarts in ${(o.delayMs / 1000).toFixed(1)} s`,
    metrics: [
      count('drover_up_restarts_total', 'Processes that exited and were restarted', {
        labelNames: ['role'],
        labels: (o) => ({ role: o.role }),
      }),
    ],
  },
};
