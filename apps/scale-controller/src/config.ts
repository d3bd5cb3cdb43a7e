import { databaseVariables } from '@drover/database';
import {
  integer,
  milliseconds,
  oneOf,
  optionalText,
  optionalUrl,
  parseConfiguration,
  port,
  secret,
  text,
  type Configuration,
  type Environment,
} from '@drover/service-kit';
import { defaultScalePolicy } from './decisions/policy.js';
import { defaultPoolPolicy } from './decisions/pool-size.js';
import { tenantBounds } from './tenant-bounds.js';

/** Collection workers that the scale controller starts and ends. */
const collectionFleetVariables = {
  maxCollectionWorkers: integer('DROVER_COLLECTION_WORKERS_MAX', {
    min: 0,
    max: 1_000,
    default: 0,
    about:
      'Most collection workers of all pools together, those of `drover up` included. Up to this number the scale controller starts workers when collections have no place or workers are busy, and ends them when they are idle again. 0: it starts none.',
  }),
  permanentCollectionWorkers: integer('DROVER_COLLECTION_WORKERS', {
    min: 0,
    max: 100,
    default: 0,
    about:
      'Collection workers that another supervisor runs, for which the scale controller waits. `drover up` sets it.',
  }),
  collectionIdleMs: milliseconds('DROVER_COLLECTION_WORKERS_IDLE_MS', {
    min: 1_000,
    max: 86_400_000,
    default: 300_000,
    about: 'A started collection worker ends when the others could have done without it for so long.',
  }),
  collectionTargetCpu: integer('DROVER_COLLECTION_WORKERS_TARGET_CPU', {
    min: 1,
    max: 100,
    default: 70,
    about:
      'Mean CPU use of the collection workers of a pool, in percent of one core, above which it gets more workers.',
  }),
  collectionBusyMs: milliseconds('DROVER_COLLECTION_WORKERS_BUSY_MS', {
    max: 3_600_000,
    default: 10_000,
    about: 'How long the CPU use must be above the target before collection workers are started for it.',
  }),
  workerCapacity: integer('WORKER_CAPACITY', {
    min: 1,
    max: 100_000,
    default: 50,
    about: 'Most collections that are assigned to a collection worker, as the workers have it.',
  }),
  controlPlaneUrl: optionalUrl('CONTROL_PLANE_URL', {
    about: 'Where the scale controller asks to drain collection workers, and where those that it starts register.',
  }),
  controlPlaneUrlFile: optionalText('CONTROL_PLANE_URL_FILE', {
    about: 'A file that holds that address once the control plane is there. `drover up` sets it.',
  }),
  workerJoinKey: secret('DROVER_WORKER_JOIN_KEY', {
    about: 'API key of scope `workers:join` for these calls.',
  }),
};

export const scaleControllerVariables = {
  ...databaseVariables,
  linkHost: text('DROVER_SCALE_LINK_HOST', {
    default: '127.0.0.1',
    about: 'The address on which the scale controller listens for runtimes; without TLS it must be a loopback address.',
  }),
  linkPort: port('DROVER_SCALE_LINK_PORT', {
    default: 0,
    about: 'The port on which the scale controller listens for runtimes; 0 takes any free one.',
  }),
  linkToken: secret('DROVER_SCALE_LINK_TOKEN', {
    about: 'Token that every runtime presents to the scale controller. `drover up` makes one.',
  }),
  linkTlsDir: optionalText('DROVER_SCALE_LINK_TLS_DIR', {
    about: 'Directory with `tls.key`, `tls.crt` and `ca.crt` for runtimes on other machines.',
  }),
  leaseMs: milliseconds('DROVER_SCALE_LEASE_MS', {
    min: 500,
    max: 60_000,
    default: 3_000,
    about:
      'Lifetime of the lease of the leading scale controller. Another one takes over after it if the leader is paused, and at once if it died.',
  }),
  fixedWorkers: integer('DROVER_WORKERS', {
    min: 0,
    max: 100,
    default: 0,
    about: 'If set, every application has exactly so many function workers; 0 lets the scale controller decide.',
  }),
  maxWorkersPerApplication: integer('DROVER_SCALE_MAX_WORKERS', {
    min: 1,
    max: 1_000,
    default: defaultScalePolicy.maxWorkers,
    about: 'Most function workers of an application whose deployment does not say otherwise.',
  }),
  idleMs: milliseconds('DROVER_SCALE_IDLE_MS', {
    min: 1_000,
    max: 86_400_000,
    default: defaultScalePolicy.idleMs,
    about:
      'Idle time after which the last function worker of an application ends, if its deployment does not say otherwise.',
  }),
  predictive: oneOf('DROVER_SCALE_PREDICTIVE', ['on', 'off'], {
    default: 'on',
    about: 'Whether function workers start ahead of the usual demand, if the deployment does not say otherwise.',
  }),
  maxWorkers: integer('DROVER_SCALE_MAX_WORKERS_TOTAL', {
    min: 1,
    max: 100_000,
    default: 100,
    about: 'Most function workers of all applications together; tenants share it fairly when it is scarce.',
  }),
  tenants: tenantBounds('DROVER_SCALE_TENANTS', {
    about:
      'Fewest and most function workers of all applications of a tenant together, and its weight when workers are scarce; tenants that are not listed have no bounds and weight 1.',
  }),
  minPlaceholders: integer('DROVER_PLACEHOLDERS_MIN', {
    min: 0,
    max: 1_000,
    default: defaultPoolPolicy.minPlaceholders,
    about: 'Fewest warm function workers without an application. 0 turns the pool off while it has no demand.',
  }),
  maxPlaceholders: integer('DROVER_PLACEHOLDERS_MAX', {
    min: 0,
    max: 1_000,
    default: defaultPoolPolicy.maxPlaceholders,
    about: 'Most warm function workers without an application.',
  }),
  payloadDirectory: optionalText('DROVER_PAYLOAD_DIR', {
    about: 'Directory of uploaded applications, as the control plane has it.',
  }),
  secretsKey: secret('DROVER_SECRETS_KEY', {
    about: 'Decrypts the settings of applications, as the control plane has it.',
  }),
  runtimes: integer('DROVER_SCALE_RUNTIMES', {
    min: 0,
    max: 100,
    default: 0,
    about: 'Runtimes that the scale controller starts; 0 if another supervisor starts them, as `drover up` does.',
  }),
  maxMessageBytes: integer('DROVER_RPC_MAX_MESSAGE_BYTES', {
    min: 65_536,
    max: 1_073_741_824,
    default: 134_217_728,
    about: 'Maximum message size of an admitted function worker, as the runtime has it.',
  }),
  ...collectionFleetVariables,
};

export type ScaleControllerConfig = Configuration<typeof scaleControllerVariables>;

export function parseScaleControllerConfig(environment: Environment): ScaleControllerConfig {
  return parseConfiguration('scale-controller', scaleControllerVariables, environment);
}
