import { count, type Readers } from '@drover/service-kit';

export type LinkServerObservation =
  | {
      readonly kind: 'link.runtime-attached';
      readonly runtimeId: string;
      readonly address: string;
      readonly workers: number;
      readonly applications: number;
    }
  | { readonly kind: 'link.runtime-detached'; readonly runtimeId: string; readonly reason: string }
  | { readonly kind: 'link.refused'; readonly address: string; readonly reason: string };

export const linkServerReaders: Readers<LinkServerObservation> = {
  'link.runtime-attached': {
    level: 'info',
    isInternal: true,
    say: (o) =>
      `runtime ${o.runtimeId} at ${o.address} attached with ${o.workers} function workers and ${o.applications} applications`,
    metrics: [count('drover_scale_runtimes_attached_total', 'Times that a runtime attached to this scale controller')],
  },
  'link.runtime-detached': {
    level: 'info',
    isInternal: true,
    say: (o) => `runtime ${o.runtimeId} is detached: ${o.reason}`,
  },
  'link.refused': {
    level: 'debug',
    say: (o) => `a runtime at ${o.address} was refused: ${o.reason}`,
    maxLines: { perSecond: 1, by: (o) => o.reason },
  },
};
