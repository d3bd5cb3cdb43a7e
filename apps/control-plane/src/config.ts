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
import { ownershipVariables } from '@drover/ownership';
import {
  appVariables,
  endpointVariables,
  functionsUserVariables,
  jobVariables,
  localVariables,
  sharedEnvironment,
} from '@drover/dispatchers';
import { executionVariables } from '@drover/execution-store';
import { applicationVariables } from './applications/application-variables.js';
import { assignmentVariables } from './assignments/assignment-variables.js';
import { collectionVariables } from './collections/collection-variables.js';
import { functionVariables } from './functions/function-variables.js';
import { httpVariables } from './http/http-limits.js';
import { invocationVariables } from './executions/invocation-variables.js';

export const controlPlaneVariables = {
  ...databaseVariables,
  host: text('DROVER_HOST', {
    default: '127.0.0.1',
    about: 'The address to listen on; `0.0.0.0` listens on every interface.',
  }),
  port: port('DROVER_PORT', { default: 7070, about: 'The public port; 0 takes any free one.' }),
  bodyLimitBytes: integer('DROVER_BODY_LIMIT_BYTES', {
    min: 1_024,
    max: 67_108_864,
    default: 1_048_576,
    about: 'Maximum size of a request body.',
  }),
  ...httpVariables,
  bootstrapKeyFile: optionalText('DROVER_BOOTSTRAP_KEY_FILE', {
    about:
      'A JSON file with an `apiKey` that gets all scopes at start. `drover up` writes one. A new key in the file replaces the old one.',
  }),
  workerJoinKey: secret('DROVER_WORKER_JOIN_KEY', {
    about:
      'An API key that gets the scope `workers:join` at start, for the collection workers that register here. `drover up` makes one. Keys of earlier starts and of other platforms on the same database stay valid until they are revoked with `drover keys revoke`.',
  }),
  eventBus: oneOf('EVENT_BUS', ['postgres'], {
    default: 'postgres',
    about: 'The transport of events between processes.',
  }),
  eventRetentionMs: milliseconds('DROVER_EVENT_RETENTION_MS', {
    min: 60_000,
    max: 2_592_000_000,
    default: 604_800_000,
    about: 'How long events are kept for subscribers that are away.',
  }),
  changeWaitMs: milliseconds('DROVER_CHANGE_WAIT_MS', {
    min: 0,
    max: 60_000,
    default: 10_000,
    about:
      'How long the answer to a change (deployment, traffic, function, collection, API key) waits until the change holds on every process of the installation. What takes longer is named in the header `x-drover-waiting-for`; 0 waits for nothing.',
  }),
  ...functionVariables,
  ...applicationVariables,
  ...collectionVariables,
  ...assignmentVariables,
  ...invocationVariables,
  ...executionVariables,
  ...ownershipVariables,
  ...functionsUserVariables,
  ...localVariables,
  ...endpointVariables,
  ...jobVariables,
  ...appVariables,
};

export type ControlPlaneConfig = Configuration<typeof controlPlaneVariables> & {
  /** The part of this process's environment that handlers and jobs may see. */
  readonly environment: Environment;
};

export function parseControlPlaneConfig(environment: Environment): ControlPlaneConfig {
  const config = parseConfiguration('control-plane', controlPlaneVariables, environment);
  return Object.freeze({ ...config, environment: sharedEnvironment(environment) });
}
