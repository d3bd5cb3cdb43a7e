import path from 'node:path';
import {
  configurationInvalid,
  integer,
  isLoopback,
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

const minuteMs = 60_000;

export const runtimeVariables = {
  httpHost: text('DROVER_RUNTIME_HOST', {
    default: '127.0.0.1',
    about: 'The address on which functions are called over HTTP.',
  }),
  httpPort: port('DROVER_RUNTIME_PORT', { default: 7071, about: 'Its port; 0 takes any free one.' }),
  bodyLimitBytes: integer('FUNCTIONS_REQUEST_BODY_SIZE_LIMIT', {
    min: 1,
    max: 1_073_741_824,
    default: 104_857_600,
    about: 'The largest request body that a function gets.',
  }),
  masterKey: secret('DROVER_FUNCTIONS_MASTER_KEY', {
    about:
      'Opens the admin API, and all other keys of functions are made from it. Without one, functions take calls without keys, which is for this machine only.',
  }),
  loopbackPort: port('DROVER_RPC_LOOPBACK_PORT', {
    default: 0,
    about: 'Where function workers of this machine connect, without TLS; 0 takes any free port.',
  }),
  rpcHost: text('DROVER_RPC_HOST', {
    default: '0.0.0.0',
    about: 'The address on which function workers of other machines connect, with certificates.',
  }),
  rpcPort: port('DROVER_RPC_PORT', { default: 50_051, about: 'Its port; 0 takes any free one.' }),
  rpcNames: text('DROVER_RPC_NAMES', {
    default: 'localhost,127.0.0.1',
    about: 'Names and addresses under which function workers reach this runtime, for its certificate.',
  }),
  certificatesDir: optionalText('DROVER_CERTIFICATES_DIR', {
    about:
      'Where the authority of all certificates is kept; made on the first start. Without it, only workers of this machine can connect.',
  }),
  applications: text('DROVER_FUNCTIONS_APPS', {
    default: '',
    about: `Directories of the applications to serve, with \`${path.delimiter}\` between them.`,
  }),
  workerCommand: optionalText('DROVER_WORKER_COMMAND', {
    about: 'What starts a function worker, such as `node worker.js`; our own Node.js worker unless told otherwise.',
  }),
  workersPerApplication: integer('DROVER_WORKERS', {
    min: 1,
    max: 100,
    default: 1,
    about: 'Function workers that are started for each application.',
  }),
  routing: oneOf('DROVER_ROUTING', ['leastLoaded', 'roundRobin'], {
    default: 'leastLoaded',
    about: 'How a function worker is chosen.',
  }),
  maxConcurrentInvocations: integer('DROVER_WORKER_CONCURRENCY', {
    min: 1,
    max: 100_000,
    default: 100,
    about: 'Invocations that one function worker may have at a time.',
  }),
  maxWaiting: integer('DROVER_MAX_WAITING_INVOCATIONS', {
    min: 0,
    max: 1_000_000,
    default: 1_000,
    about: 'Invocations of one application that may wait for a worker; more are turned away.',
  }),
  maxInvocations: integer('DROVER_MAX_INVOCATIONS', {
    min: 1,
    max: 10_000_000,
    default: 100_000,
    about: 'Invocations that may be on their way at a time, of all applications.',
  }),
  maxMessageBytes: integer('DROVER_RPC_MAX_MESSAGE_BYTES', {
    min: 65_536,
    max: 1_073_741_824,
    default: 134_217_728,
    about: 'The largest message of a function worker that is known.',
  }),
  heartbeatIntervalMs: milliseconds('DROVER_HEARTBEAT_INTERVAL_MS', {
    min: 100,
    max: 10 * minuteMs,
    default: 15_000,
    about: 'How often function workers are asked whether they live.',
  }),
  heartbeatMisses: integer('DROVER_HEARTBEAT_MISSES', {
    min: 1,
    max: 100,
    default: 3,
    about: 'After so many intervals without a sign of life, a function worker is given up.',
  }),
  backpressureMs: milliseconds('DROVER_BACKPRESSURE_MS', {
    min: 100,
    max: 10 * minuteMs,
    default: 5_000,
    about: 'A function worker that does not read for so long is unhealthy.',
  }),
  drainTimeoutMs: milliseconds('DROVER_WORKER_DRAIN_TIMEOUT_MS', {
    min: 0,
    max: 60 * minuteMs,
    default: 30_000,
    about: 'How long a function worker that is to end may finish what it has.',
  }),
  terminateGraceMs: milliseconds('DROVER_WORKER_TERMINATE_GRACE_MS', {
    min: 0,
    max: 10 * minuteMs,
    default: 5_000,
    about: 'How long it then has to end by itself.',
  }),
  recycleOnTimeout: oneOf('DROVER_WORKER_RECYCLE_ON_TIMEOUT', ['true', 'false'], {
    default: 'true',
    about: 'Whether a function worker is replaced after an invocation ran out of time.',
  }),
  recycleOnConsecutiveTimeouts: integer('DROVER_WORKER_RECYCLE_ON_CONSECUTIVE_TIMEOUTS', {
    min: 1,
    max: 1_000,
    default: 3,
    about: 'Where it is not: after so many in a row.',
  }),
  startTimeoutMs: milliseconds('DROVER_WORKER_START_TIMEOUT_MS', {
    min: 1_000,
    max: 60 * minuteMs,
    default: minuteMs,
    about: 'How long a function worker may take to connect, to initialize, to list and to load functions, each.',
  }),
  abandonedMs: milliseconds('DROVER_WORKER_ABANDONED_MS', {
    min: 1_000,
    max: 60 * minuteMs,
    default: 5 * minuteMs,
    about: 'How long a function worker that was given up is remembered.',
  }),
  memoryLimitMb: integer('DROVER_RUNTIME_MEMORY_MB', {
    min: 64,
    max: 1_048_576,
    default: 2_048,
    about: 'Memory the runtime means to stay below: near it, less is taken in.',
  }),
  hotReload: oneOf('DROVER_HOT_RELOAD', ['on', 'off'], {
    default: 'off',
    about: 'Whether applications are deployed again when their files change.',
  }),
};

export type RuntimeConfig = Configuration<typeof runtimeVariables>;

export function parseRuntimeConfig(environment: Environment): RuntimeConfig {
  const config = parseConfiguration('runtime', runtimeVariables, environment);
  if (!config.masterKey && !isLoopback(config.httpHost))
    throw configurationInvalid({
      process: 'runtime',
      problems: ['DROVER_FUNCTIONS_MASTER_KEY is needed where DROVER_RUNTIME_HOST can be reached from other machines'],
    });
  return config;
}
