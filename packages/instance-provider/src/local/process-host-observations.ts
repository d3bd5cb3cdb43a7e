import { count, type Readers } from '@drover/service-kit';
import type { InstanceRole } from '../instance-provider.js';
import type { PrintedLine } from '../processes/printed-lines.js';

/** `workerId` is the id of the instance. */
export type ProcessHostObservation =
  | {
      readonly kind: 'process.started';
      readonly role: InstanceRole;
      readonly workerId: string;
      readonly pid: number | undefined;
    }
  | {
      readonly kind: 'process.ended';
      readonly role: InstanceRole;
      readonly workerId: string;
      readonly isClean: boolean;
      readonly text: string;
    }
  | {
      readonly kind: 'process.line';
      readonly workerId: string;
      readonly level: PrintedLine['level'];
      readonly text: string;
    }
  | {
      readonly kind: 'process.fenced';
      readonly call: string;
      readonly instanceId: string;
      readonly token: number;
    };

export const processHostReaders: Readers<ProcessHostObservation> = {
  'process.started': {
    level: 'info',
    isInternal: true,
    say: (o) => `started ${o.role} ${o.workerId} (pid ${o.pid ?? 'none'})`,
    metrics: [
      count('drover_instances_started_total', 'Instances that were started on this machine', {
        labelNames: ['role'],
        labels: (o) => ({ role: o.role }),
      }),
    ],
  },
  'process.ended': {
    level: 'info',
    isInternal: true,
    say: (o) => `the process of ${o.role} ${o.workerId} ended: ${o.text}`,
    metrics: [
      count('drover_instances_ended_total', 'Instances that ended on this machine, as they were told or by a crash', {
        labelNames: ['role', 'clean'],
        labels: (o) => ({ role: o.role, clean: String(o.isClean) }),
      }),
    ],
  },
  'process.line': {
    level: (o) => o.level,
    say: (o) => o.text,
    maxLines: { perSecond: 2_000, by: () => 'all' }, // a worker that floods its output must not hold up this process
  },
  'process.fenced': {
    level: 'warn',
    say: (o) =>
      `refused to ${o.call} instance ${o.instanceId}: the scale controller with the fencing token ${o.token} leads no more`,
    metrics: [
      count('drover_instances_fenced_total', 'Calls of scale controllers that led no more', {
        labelNames: ['call'],
        labels: (o) => ({ call: o.call }),
      }),
    ],
  },
};
