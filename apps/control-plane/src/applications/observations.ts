import { count, type Readers } from '@drover/service-kit';

export type DeploymentObservation =
  | {
      readonly kind: 'application.deployed';
      readonly tenantId: string;
      readonly applicationId: string;
      readonly version: string;
      readonly trafficPercent: number;
      readonly functions: number;
    }
  | { readonly kind: 'application.deploy-warning'; readonly applicationId: string; readonly warning: string }
  | {
      readonly kind: 'application.traffic-changed';
      readonly tenantId: string;
      readonly applicationId: string;
      readonly change: 'traffic' | 'promoted' | 'rolled back';
      readonly traffic: Readonly<Record<string, number>>;
    }
  | { readonly kind: 'application.deleting'; readonly tenantId: string; readonly applicationId: string }
  | { readonly kind: 'application.folder-refused'; readonly applicationId: string; readonly problem: string }
  | { readonly kind: 'application.folder-problem'; readonly applicationId: string; readonly problem: string }
  | { readonly kind: 'payload.uploaded'; readonly tenantId: string; readonly digest: string; readonly bytes: number }
  | { readonly kind: 'payload.cleaned'; readonly count: number }
  | { readonly kind: 'payload.cleaning-failed'; readonly error: unknown };

export const deploymentReaders: Readers<DeploymentObservation> = {
  'application.deployed': {
    level: 'info',
    say: (o) =>
      `${o.applicationId} of ${o.tenantId} is deployed as ${o.version} with ${o.functions} functions and ${o.trafficPercent} % of its traffic`,
    metrics: [count('drover_deployments_total', 'Versions of applications that were deployed')],
  },
  'application.deploy-warning': { level: 'warn', say: (o) => `${o.applicationId}: ${o.warning}` },
  'application.traffic-changed': {
    level: 'info',
    say: (o) => `${o.applicationId} of ${o.tenantId}: ${o.change}, traffic is ${JSON.stringify(o.traffic)}`,
  },
  'application.deleting': {
    level: 'info',
    say: (o) => `${o.applicationId} of ${o.tenantId} accepts no more calls and is removed when nothing runs any more`,
  },
  'application.folder-refused': { level: 'error', say: (o) => `${o.applicationId} was not deployed: ${o.problem}` },
  'application.folder-problem': { level: 'warn', say: (o) => `${o.applicationId}: ${o.problem}` },
  'payload.uploaded': {
    level: 'info',
    say: (o) => `payload ${o.digest.slice(0, 12)} of ${o.tenantId} was stored, ${o.bytes} bytes`,
    metrics: [count('drover_payloads_total', 'Payloads that were uploaded and stored')],
  },
  'payload.cleaned': { level: 'info', say: (o) => `${o.count} payloads that no version needs were removed` },
  'payload.cleaning-failed': { level: 'warn', say: (o) => `unused payloads were not removed: ${String(o.error)}` },
};
