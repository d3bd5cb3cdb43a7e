import path from 'node:path';
import { corsRule } from '@drover/http-edge';
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
import { functionsHttpVariables } from './functions-http/http-limits.js';

const minuteMs = 60_000;

export const dataDirectoryVariable = text('DROVER_DATA_DIR', {
  default: '.drover',
  about:
    'Directory in which `drover up` stores all data, keys and logs, and every runtime the data of its emulators (in `emulators`). Same as `--data-dir`.',
});

export const emulatorsPageVariable = port('DROVER_EMULATORS_PAGE_PORT', {
  default: 10_003,
  about:
    'Port of the page that shows what the emulators hold: messages, dead letters, blobs and tables. On loopback only. If it is in use, the page takes a free one and the log says which; 0 takes a free one.',
});

export const runtimeVariables = {
  httpHost: text('DROVER_RUNTIME_HOST', {
    default: '127.0.0.1',
    about: 'Address of the HTTP server of the functions.',
  }),
  httpPort: port('DROVER_RUNTIME_PORT', {
    default: 7071,
    about: 'Port of the HTTP server; 0 for any free one. `drover up` takes any free one unless it is set.',
  }),
  bodyLimitBytes: integer('FUNCTIONS_REQUEST_BODY_SIZE_LIMIT', {
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    default: 104_857_600,
    about:
      'Maximum size of a request body; the same setting of an application takes precedence. Without HTTP streaming, DROVER_RPC_MAX_MESSAGE_BYTES limits bodies too.',
  }),
  ...functionsHttpVariables,
  masterKey: secret('DROVER_FUNCTIONS_MASTER_KEY', {
    about:
      'Key of the admin API, from which all function keys are derived. Without it, functions need no keys and the server must listen on loopback.',
  }),
  functionKeys: oneOf('DROVER_FUNCTION_KEYS', ['on', 'off'], {
    default: 'on',
    about:
      'Whether functions require keys. `off` is for development, as with `func start`: every function can be called without a key, and programs on this machine may use the admin API. The servers must listen on loopback. Same as `drover up --no-keys`.',
  }),
  loopbackPort: port('DROVER_RPC_LOOPBACK_PORT', {
    default: 0,
    about: 'Port for function workers on this machine, without TLS; 0 for any free one.',
  }),
  rpcHost: text('DROVER_RPC_HOST', {
    default: '127.0.0.1',
    about:
      'Address for function workers with certificates (mutual TLS). Set it, and `DROVER_RPC_PORT`, to let workers on other machines connect.',
  }),
  rpcPort: port('DROVER_RPC_PORT', {
    default: 0,
    about: 'Port for function workers with certificates; 0 for any free one.',
  }),
  rpcNames: text('DROVER_RPC_NAMES', {
    default: 'localhost,127.0.0.1',
    about: 'Host names and addresses of this runtime for its certificate, separated by commas.',
  }),
  certificatesDir: optionalText('DROVER_CERTIFICATES_DIR', {
    about:
      'Directory of the certificate authority, created on the first start. Without it, only workers on this machine can connect.',
  }),
  applications: text('DROVER_FUNCTIONS_APPS', {
    default: '',
    about: `Directories of the applications, separated by \`${path.delimiter}\`.`,
  }),
  triggerDatabaseUrl: secret('DATABASE_URL', {
    about:
      'URL of the PostgreSQL database for the state of triggers: schedules, checkpoints, receipts. Unset: they are in blobs of `AzureWebJobsStorage`, else in memory. Functions do not see it.',
  }),
  triggerDatabaseUrlFile: optionalText('DROVER_TRIGGER_DATABASE_URL_FILE', {
    about:
      'File that will contain that URL, read when a trigger needs it. `drover up` sets it: the runtime starts before the database is ready.',
  }),
  workerCommand: optionalText('DROVER_WORKER_COMMAND', {
    about: 'Command that starts a function worker, such as `node worker.js`. Default: the Node.js worker of Drover.',
  }),
  functionsEnvironment: optionalText('DROVER_FUNCTIONS_ENVIRONMENT', {
    about:
      '`AZURE_FUNCTIONS_ENVIRONMENT` of applications that do not set it. `drover up` sets `Development`, as `func start` does.',
  }),
  scaleLinkUrl: optionalText('DROVER_SCALE_LINK_URL', {
    about:
      'Address of the scale controller, such as `http://127.0.0.1:7072`; several are separated by commas, of which the leader accepts. With it the runtime hosts what the scale controller tells it, and starts no function workers itself. `drover up` sets it.',
  }),
  scaleLinkToken: secret('DROVER_SCALE_LINK_TOKEN', {
    about: 'Token with which the runtime authenticates at the scale controller. Required with DROVER_SCALE_LINK_URL.',
  }),
  scaleLinkTlsDir: optionalText('DROVER_SCALE_LINK_TLS_DIR', {
    about:
      'Directory with `tls.key`, `tls.crt` and `ca.crt` (the files of a TLS secret of Kubernetes) for a scale link over https.',
  }),
  runtimeId: optionalText('DROVER_RUNTIME_ID', {
    about:
      'Name of this runtime at the scale controller. It must stay the same when the runtime is started again. Default: a new one at each start.',
  }),
  workersPerApplication: integer('DROVER_WORKERS', {
    min: 1,
    max: 100,
    default: 1,
    about: 'Function workers per application.',
  }),
  routing: oneOf('DROVER_ROUTING', ['leastLoaded', 'roundRobin'], {
    default: 'leastLoaded',
    about: 'Routing policy: how a function worker is chosen for an invocation.',
  }),
  maxConcurrentInvocations: integer('DROVER_WORKER_CONCURRENCY', {
    min: 1,
    max: 100_000,
    default: 100,
    about: 'Concurrent invocations per function worker.',
  }),
  maxWaiting: integer('DROVER_MAX_WAITING_INVOCATIONS', {
    min: 0,
    max: 1_000_000,
    default: 1_000,
    about: 'Queued invocations per application; more are refused.',
  }),
  maxInvocations: integer('DROVER_MAX_INVOCATIONS', {
    min: 1,
    max: 10_000_000,
    default: 100_000,
    about: 'Invocations in flight, all applications together.',
  }),
  maxMessageBytes: integer('DROVER_RPC_MAX_MESSAGE_BYTES', {
    min: 65_536,
    max: 1_073_741_824,
    default: 134_217_728,
    about: 'Maximum message size of an admitted function worker.',
  }),
  heartbeatIntervalMs: milliseconds('DROVER_HEARTBEAT_INTERVAL_MS', {
    min: 100,
    max: 10 * minuteMs,
    default: 15_000,
    about: 'Interval of heartbeats to function workers.',
  }),
  heartbeatMisses: integer('DROVER_HEARTBEAT_MISSES', {
    min: 1,
    max: 100,
    default: 3,
    about: 'Heartbeat intervals without any message after which a function worker is abandoned.',
  }),
  backpressureMs: milliseconds('DROVER_BACKPRESSURE_MS', {
    min: 100,
    max: 10 * minuteMs,
    default: 5_000,
    about: 'A function worker whose stream is full for this long is unhealthy.',
  }),
  drainTimeoutMs: milliseconds('DROVER_WORKER_DRAIN_TIMEOUT_MS', {
    min: 0,
    max: 60 * minuteMs,
    default: 30_000,
    about: 'Time limit for the drain of a function worker.',
  }),
  terminateGraceMs: milliseconds('DROVER_WORKER_TERMINATE_GRACE_MS', {
    min: 0,
    max: 10 * minuteMs,
    default: 5_000,
    about: 'Time that a drained function worker has to end by itself.',
  }),
  recycleOnTimeout: oneOf('DROVER_WORKER_RECYCLE_ON_TIMEOUT', ['true', 'false'], {
    default: 'true',
    about: 'Whether a function worker is replaced after an invocation timed out.',
  }),
  recycleOnConsecutiveTimeouts: integer('DROVER_WORKER_RECYCLE_ON_CONSECUTIVE_TIMEOUTS', {
    min: 1,
    max: 1_000,
    default: 3,
    about: 'Without that: consecutive timeouts after which it is replaced.',
  }),
  startTimeoutMs: milliseconds('DROVER_WORKER_START_TIMEOUT_MS', {
    min: 1_000,
    max: 60 * minuteMs,
    default: minuteMs,
    about: 'Time limit for each of: connect, initialize, list functions, load functions.',
  }),
  abandonedMs: milliseconds('DROVER_WORKER_ABANDONED_MS', {
    min: 1_000,
    max: 60 * minuteMs,
    default: 5 * minuteMs,
    about: 'How long an abandoned function worker stays registered.',
  }),
  memoryLimitMb: integer('DROVER_RUNTIME_MEMORY_MB', {
    min: 64,
    max: 1_048_576,
    default: 2_048,
    about: 'Memory limit of the runtime. Near it, intake is paused.',
  }),
  callLinesPerSecond: integer('DROVER_CALL_LINES_PER_SECOND', {
    min: 0,
    max: 1_000_000,
    default: 50,
    about:
      'Calls per second whose start and end are logged (`Executing …`, `Executed …`); the others are counted in one line. 0 turns these lines off. Failed calls are counted separately.',
  }),
  dataDir: dataDirectoryVariable,
  emulators: oneOf('DROVER_EMULATORS', ['on', 'off'], {
    default: 'on',
    about:
      'Whether emulators of Service Bus, Event Hubs and Storage are started for applications whose settings have connection strings for development (`UseDevelopmentStorage=true`, `UseDevelopmentEmulator=true`), or that use storage without `AzureWebJobsStorage`. An emulator that already answers at such an address is used instead.',
  }),
  emulatorsPagePort: emulatorsPageVariable,
  hotReload: oneOf('DROVER_HOT_RELOAD', ['on', 'off'], {
    default: 'off',
    about: 'Whether applications are redeployed when their files change.',
  }),
};

export type RuntimeConfig = Configuration<typeof runtimeVariables>;

export function parseRuntimeConfig(environment: Environment): RuntimeConfig {
  const config = parseConfiguration('runtime', runtimeVariables, environment, [corsRule]);
  const problems = [...(isLoopback(config.httpHost) ? [] : networkProblems(config)), ...linkProblems(config)];
  if (problems.length > 0) throw configurationInvalid({ process: 'runtime', problems });
  return config;
}

/** Returns the addresses of the scale controllers; empty without a scale link. */
export function scaleLinkUrls({ scaleLinkUrl = '' }: Pick<RuntimeConfig, 'scaleLinkUrl'>): readonly string[] {
  return scaleLinkUrl
    .split(',')
    .map((url) => url.trim())
    .filter((url) => url !== '');
}

function linkProblems(config: RuntimeConfig): readonly string[] {
  const urls = scaleLinkUrls(config);
  if (urls.length === 0) return [];
  const invalid = urls.filter((url) => !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol));
  const plain = urls.filter((url) => URL.canParse(url) && new URL(url).protocol === 'http:');
  const open = plain.filter((url) => !isLoopback(new URL(url).hostname));
  const encrypted = urls.length - plain.length - invalid.length;
  return [
    ...invalid.map((url) => `DROVER_SCALE_LINK_URL has ${url}, which is not an http: or https: address`),
    ...open.map((url) => `DROVER_SCALE_LINK_URL has ${url} without TLS: use https: for other machines`),
    ...(encrypted > 0 && config.scaleLinkTlsDir === undefined
      ? ['DROVER_SCALE_LINK_TLS_DIR is required when DROVER_SCALE_LINK_URL is an https: address']
      : []),
    ...(config.scaleLinkToken ? [] : ['DROVER_SCALE_LINK_TOKEN is required with DROVER_SCALE_LINK_URL']),
    ...(config.applications === ''
      ? []
      : ['DROVER_FUNCTIONS_APPS must be empty with DROVER_SCALE_LINK_URL: deploy the applications instead']),
  ];
}

/** Returns why functions must not be reachable from other machines. */
function networkProblems({ masterKey, functionKeys }: RuntimeConfig): readonly string[] {
  const where = 'when DROVER_RUNTIME_HOST is reachable from other machines';
  return [
    ...(masterKey ? [] : [`DROVER_FUNCTIONS_MASTER_KEY is required ${where}`]),
    ...(functionKeys === 'off' ? [`DROVER_FUNCTION_KEYS must be on ${where}`] : []),
  ];
}
