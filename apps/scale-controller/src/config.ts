import { databaseVariables } from '@drover/database';
import {
  integer,
  milliseconds,
  oneOf,
  optionalText,
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
};

export type ScaleControllerConfig = Configuration<typeof scaleControllerVariables>;

export function parseScaleControllerConfig(environment: Environment): ScaleControllerConfig {
  return parseConfiguration('scale-controller', scaleControllerVariables, environment);
}
