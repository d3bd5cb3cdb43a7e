import { count, gauge, type Readers } from '@drover/service-kit';

export type LeadershipObservation =
  | { readonly kind: 'leadership.elected'; readonly token: number }
  | {
      readonly kind: 'leadership.deposed';
      readonly token: number;
      readonly reason: string;
      /** The process stops. */
      readonly isPlanned: boolean;
    }
  | { readonly kind: 'leadership.unanswered'; readonly reason: string };

export const leadershipReaders: Readers<LeadershipObservation> = {
  'leadership.elected': {
    level: 'info',
    isInternal: true,
    say: (o) => `leads the scaling of applications, with fencing token ${o.token}`,
    metrics: [
      count('drover_scale_elections_total', 'Elections of this scale controller to the leader'),
      gauge('drover_scale_leader_token', 'Fencing token of the last term of this scale controller', {
        value: (o) => o.token,
      }),
    ],
  },
  'leadership.deposed': {
    level: (o) => (o.isPlanned ? 'info' : 'warn'),
    isInternal: true,
    say: (o) => `does not lead the scaling of applications any more: ${o.reason}`,
    metrics: [count('drover_scale_depositions_total', 'Ends of the leadership of this scale controller')],
  },
  'leadership.unanswered': {
    level: 'warn',
    isInternal: true,
    say: (o) => `the lease of the scale controller could not be read: ${o.reason}`,
    maxLines: { perSecond: 1, by: () => '' },
  },
};
