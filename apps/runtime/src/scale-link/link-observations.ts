import { count, seconds, type Readers } from '@drover/service-kit';

export type LinkObservation =
  | { readonly kind: 'link.attached'; readonly workers: number; readonly applications: number }
  | { readonly kind: 'link.detached'; readonly reason: string; readonly isPlanned: boolean }
  | { readonly kind: 'link.unreachable'; readonly reason: string; readonly failures: number }
  | {
      readonly kind: 'link.command';
      readonly command: string;
      readonly durationMs: number;
      readonly error: string | undefined;
    }
  | { readonly kind: 'link.fenced'; readonly command: string; readonly token: number; readonly highest: number };

/** Failed attempts between two lines of the log: about half a minute. A new database takes some seconds. */
const failuresPerLine = 60;

export const linkReaders: Readers<LinkObservation> = {
  'link.attached': {
    level: 'info',
    isInternal: true,
    say: (o) =>
      `attached to the scale controller with ${o.workers} function workers and ${o.applications} applications`,
    metrics: [count('drover_runtime_scale_link_attached_total', 'Times the runtime attached to a scale controller')],
  },
  'link.detached': {
    level: (o) => (o.isPlanned ? 'info' : 'warn'),
    isInternal: true,
    say: (o) => `the link to the scale controller ended: ${o.reason}. The runtime goes on, and tries to attach again`,
  },
  'link.unreachable': {
    level: (o) => (o.failures % failuresPerLine === 0 ? 'warn' : 'debug'),
    say: (o) =>
      `the scale controller cannot be reached (${o.reason}), attempt ${o.failures}. Applications get no new function workers until it is`,
  },
  'link.command': {
    level: (o) => (o.error === undefined ? 'debug' : 'warn'),
    say: (o) =>
      o.error === undefined
        ? `${o.command}: done after ${o.durationMs.toFixed(1)} ms`
        : `the command ${o.command} of the scale controller failed: ${o.error}`,
    metrics: [
      seconds('drover_runtime_scale_link_command_seconds', 'From a command of the scale controller to its answer', {
        valueMs: (o) => o.durationMs,
        labelNames: ['command', 'outcome'],
        labels: (o) => ({ command: o.command, outcome: o.error === undefined ? 'done' : 'failed' }),
      }),
    ],
  },
  'link.fenced': {
    level: 'warn',
    say: (o) => `refused the command ${o.command} of a former leader: its token ${o.token} is lower than ${o.highest}`,
    metrics: [count('drover_runtime_scale_link_fenced_total', 'Commands of former leaders that were refused')],
  },
};
