import type {
  QuarantineConfig,
  RestartConfig,
  StuckWorkerConfig,
  TimeoutConfig,
  UnexpectedShutdownConfig,
} from '../../types/config.js';
import type { CancellationConfig, PoolEvents, PoolOptions } from '../../types/pool.js';
import type { StreamOptions, WorkerOptions } from '../../types/worker.js';
import {
  aboveZeroValue,
  anyValue,
  functionValue,
  countValue,
  booleanValue,
  listOfValues,
  millisecondsValue,
  must,
  objectWith,
  oneOfValues,
  optionsOf,
  partsOf,
  recordOfValues,
  refuseOption,
  stringValue,
  upperLimitValue,
  zeroOrMoreValue,
  type Check,
  type OptionTable,
} from './checks.js';
import { middlewareOption, serializerOption } from './server-options.js';

/** Time limits of the public `isolated-workers` 0.2, and what they are called here. */
const timeout020 = {
  WORKER_STARTUP: 'Use timeout.startup.',
  SERVER_CONNECT: 'Use timeout.startup, which covers the start of the worker and its connection.',
  WORKER_MESSAGE: 'Use timeout.request.',
};

const timeoutParts = partsOf<TimeoutConfig<unknown>>(
  {
    startup: millisecondsValue,
    request: millisecondsValue,
    byType: recordOfValues(millisecondsValue, 'an object with a limit in milliseconds for each message'),
    total: millisecondsValue,
    onTimeout: oneOfValues('keep', 'recycle'),
  },
  timeout020,
  (key, value) =>
    typeof value === 'number' && !Object.hasOwn(timeout020, key)
      ? `timeout has no option '${key}'. For the message '${key}' use timeout.byType: { ${key}: ${value} }; the other options are startup, request, total and onTimeout.`
      : undefined,
);

const timeout: Check = (value, name) => {
  if (typeof value === 'object') timeoutParts(value, name);
  else must((limit) => typeof limit === 'number' && limit >= 0, 'a number of milliseconds, or an object')(value, name);
};

const strategyParts = { strategy: oneOfValues('reject', 'retry'), attempts: countValue };

/** One strategy: of all messages, or of one of them. */
function strategy({ strategy: kind, attempts }: Readonly<Record<string, unknown>>, name: string): void {
  strategyParts.strategy(kind, `${name}.strategy`);
  if (attempts === undefined) return;
  strategyParts.attempts(attempts, `${name}.attempts`);
  if (kind === 'reject')
    refuseOption(
      `${name}.strategy`,
      kind,
      `'retry' when attempts is given: a request that is rejected has one attempt`,
    );
}

const strategyOfMessage: Check = (value, name) => {
  const isStrategy = typeof value === 'object' && value !== null && 'strategy' in value;
  if (!isStrategy) refuseOption(name, value, "the strategy of a message, such as { strategy: 'retry', attempts: 3 }");
  partsOf(strategyParts)(value, name);
  strategy(value, name);
};

/** Every other key is the name of a message. */
const unexpectedShutdown: Check = (value, name) => {
  if (typeof value !== 'object' || value === null)
    refuseOption(name, value, "a strategy, such as { strategy: 'reject' }");
  const {
    byType,
    strategy: kind,
    attempts,
    ...messages
  } = value as UnexpectedShutdownConfig<unknown> & {
    readonly attempts?: unknown;
  };
  strategy({ strategy: kind, attempts }, name);
  recordOfValues(strategyOfMessage, 'an object with a strategy for each message')(messages, name);
  if (byType !== undefined)
    recordOfValues(strategyOfMessage, 'an object with a strategy for each message')(byType, `${name}.byType`);
};

const restart = partsOf<RestartConfig>({
  max: zeroOrMoreValue,
  periodMs: millisecondsValue,
  delayMs: millisecondsValue,
  maxDelayMs: millisecondsValue,
});

const arguments_ = listOfValues(stringValue, 'an array of strings');
const output = oneOfValues('inherit', 'ignore');

/** As instanceof, but also for values of another realm, which test runners have. */
const isTagged = (value: unknown, name: string): boolean =>
  Object.prototype.toString.call(value) === `[object ${name}]`;

/** The options that workers and pools have in common. */
const common = {
  script: must((value) => typeof value === 'string' || isTagged(value, 'URL'), 'a path or a URL'),
  driver: objectWith({ name: stringValue, connect: functionValue }, 'a driver, such as childProcess or workerThreads'),
  env: recordOfValues(stringValue, 'an object of strings'),
  inheritEnv: booleanValue,
  user: partsOf<NonNullable<WorkerOptions<object>['user']>>({ uid: zeroOrMoreValue, gid: zeroOrMoreValue }),
  argv: arguments_,
  execArgv: arguments_,
  workerData: anyValue,
  stdout: output,
  stderr: output,
  maxHeapMb: aboveZeroValue,
  maxMemoryMb: aboveZeroValue,
  timeout,
  unexpectedShutdown,
  restart,
  quarantine: partsOf<QuarantineConfig>({ afterKills: zeroOrMoreValue, forMs: millisecondsValue }),
  maxPending: zeroOrMoreValue,
  maxFrameBytes: aboveZeroValue,
  closeGraceMs: millisecondsValue,
  middleware: middlewareOption,
  serializer: serializerOption,
  hostHandlers: recordOfValues(functionValue, 'an object of functions'),
  txIdGenerator: functionValue,
  traceparent: functionValue,
  logger: objectWith(
    { debug: functionValue, info: functionValue, warn: functionValue, error: functionValue },
    'a logger with debug, info, warn and error, such as console',
  ),
  logLevel: oneOfValues('debug', 'info', 'warn', 'error', 'silent'),
};

const workerTable: OptionTable<WorkerOptions<object>> = {
  ...common,
  cancellation: partsOf<StuckWorkerConfig>({ acknowledgeMs: millisecondsValue }),
  maxConcurrent: upperLimitValue,
  standby: booleanValue,
};

const poolTable: OptionTable<PoolOptions<object>> = {
  ...common,
  size: countValue,
  minIdle: zeroOrMoreValue,
  minSize: zeroOrMoreValue,
  concurrencyPerWorker: countValue,
  distribution: oneOfValues('spread', 'pack'),
  batch: booleanValue,
  maxRequestsPerWorker: upperLimitValue,
  hardMemoryLimitMb: aboveZeroValue,
  idleTimeoutMs: millisecondsValue,
  cancellation: partsOf<CancellationConfig>({ acknowledgeMs: millisecondsValue, finishMs: millisecondsValue }),
  replacement: restart,
  events: partsOf<PoolEvents>({ onUnresponsive: functionValue, onUnavailable: functionValue }),
};

/** Options of the public `isolated-workers` 0.2. */
const options020 = {
  driverOptions:
    'Pass its parts as options of their own: workerData, argv, execArgv, and maxHeapMb for resourceLimits.',
  detached: 'Workers always end with their host.',
  spawnOptions: 'Use env, argv, execArgv, user, stdout and stderr.',
  connection: 'Use timeout.startup, which covers the start of the worker and its connection.',
  socketPath: 'Omit it: the connection has no path.',
  debug: "Use logLevel: 'debug'.",
};

const ofPools = Object.fromEntries(
  Object.keys(poolTable)
    .filter((name) => !Object.hasOwn(workerTable, name))
    .map((name) => [name, 'It is an option of createPool.']),
);

const checkWorker = optionsOf(workerTable, { ...ofPools, ...options020 });
const checkPool = optionsOf(poolTable, {
  ...options020,
  maxConcurrent: 'Use concurrencyPerWorker.',
  standby: 'Use minIdle, which keeps idle workers warm.',
});

const sendTable: OptionTable<StreamOptions> = {
  signal: objectWith({ addEventListener: functionValue }, 'an AbortSignal'),
  timeout: millisecondsValue,
  totalTimeout: millisecondsValue,
  priority: must((value) => Number.isFinite(value), 'a finite number'),
  onProgress: functionValue,
  transfer: listOfValues(
    must((value) => isTagged(value, 'ArrayBuffer'), 'an ArrayBuffer'),
    'an array of ArrayBuffers',
  ),
  traceparent: stringValue,
  highWaterMark: upperLimitValue,
};
const { highWaterMark: _, ...requestTable } = sendTable;
const checkRequest = optionsOf(requestTable, { highWaterMark: 'It is an option of stream.' });
const checkStream = optionsOf(sendTable);
const checkLimits = optionsOf({ size: countValue, concurrencyPerWorker: countValue });

/** Throws `UnsupportedOptionError` for unknown options and values of a wrong type, with what to change. */
export const expectOptions = {
  ofWorker(options: { readonly script: unknown }): void {
    checkWorker(options, 'createWorker');
    common.script(options.script, 'script');
  },
  ofPool(options: { readonly script: unknown }): void {
    checkPool(options, 'createPool');
    common.script(options.script, 'script');
  },
  ofRequest: (options: unknown): void => checkRequest(options, 'send'),
  ofStream: (options: unknown): void => checkStream(options, 'stream'),
  ofResize: (limits: unknown): void => checkLimits(limits, 'resize'),
};
