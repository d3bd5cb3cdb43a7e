import type { TimeoutConfig, UnexpectedShutdownConfig } from '../types/config.js';
import type { ConnectSpec, Driver } from '../types/driver.js';
import { UnsupportedOptionError } from '../types/errors.js';
import type { Logger, LogLevel, WorkerOptions } from '../types/worker.js';
import { childProcess } from './drivers/child-process/host.js';
import { resolveScript } from './launch/script.js';

// oxlint-disable-next-line typescript/no-explicit-any -- options of any message definitions
export type AnyWorkerOptions = WorkerOptions<any, any>;

/** Options, validated and with defaults. */
export interface IsolatedWorkerSettings {
  readonly driver: Driver;
  readonly spec: ConnectSpec;
  readonly startupMs: number;
  readonly requestMs: number;
  readonly requestMsByType: ReadonlyMap<string, number>;
  readonly totalMs: number;
  readonly recycleOnTimeout: boolean;
  /** 0: no limit. */
  readonly acknowledgeMs: number;
  readonly unexpectedShutdown: UnexpectedShutdownConfig<unknown> | undefined;
  readonly maxPending: number;
  readonly maxConcurrent: number;
  readonly maxMemoryMb: number | undefined;
  readonly standby: boolean;
  readonly closeGraceMs: number;
}

/** Validates options against the capabilities of the driver. Throws `UnsupportedOptionError`. */
export function resolveWorkerOptions(options: AnyWorkerOptions): IsolatedWorkerSettings {
  const driver = options.driver ?? childProcess;
  const { capabilities, name } = driver;
  const refuse = (what: string, instead: string): never => {
    throw new UnsupportedOptionError(`The driver ${name} has no ${what}. ${instead}.`);
  };
  if (usesRetry(options.unexpectedShutdown) && !capabilities.reconnect)
    refuse('reconnect, which retry needs', "Use strategy 'reject' or another driver");
  if (options.standby && !capabilities.reconnect)
    refuse('reconnect, which standby needs', 'Omit standby or use another driver');
  if (options.maxHeapMb !== undefined && !capabilities.memoryLimit)
    refuse('memoryLimit', 'Omit maxHeapMb or use another driver');
  if (options.maxMemoryMb !== undefined && name !== 'child-process')
    refuse('memory of its own to measure', 'Use maxHeapMb, or the driver childProcess');
  if (options.maxFrameBytes !== undefined && name === 'worker-threads')
    refuse('frames to limit', 'Omit maxFrameBytes, or use the driver childProcess');
  if (options.user !== undefined && name === 'worker-threads')
    refuse('user of its own', 'Omit user, or use the driver childProcess');
  const timeout: TimeoutConfig<unknown> =
    typeof options.timeout === 'number' ? { request: options.timeout } : (options.timeout ?? {});
  return {
    driver,
    spec: {
      script: resolveScript(options.script),
      env: options.env,
      inheritEnv: options.inheritEnv ?? true,
      user: options.user,
      argv: options.argv ?? [],
      execArgv: options.execArgv,
      maxHeapMb: options.maxHeapMb,
      workerData: options.workerData,
      stdout: options.stdout ?? 'inherit',
      stderr: options.stderr ?? 'inherit',
      serializer: options.serializer,
      maxFrameBytes: options.maxFrameBytes ?? 268_435_456,
    },
    startupMs: timeout.startup ?? 10_000,
    requestMs: timeout.request ?? 300_000,
    requestMsByType: new Map(Object.entries(timeout.byType ?? {})),
    totalMs: timeout.total ?? 0,
    recycleOnTimeout: timeout.onTimeout === 'recycle',
    acknowledgeMs: options.cancellation?.acknowledgeMs ?? (timeout.onTimeout === 'keep' ? 0 : 5_000),
    unexpectedShutdown: options.unexpectedShutdown,
    maxPending: options.maxPending ?? 10_000,
    maxConcurrent: options.maxConcurrent ?? Number.POSITIVE_INFINITY,
    maxMemoryMb: options.maxMemoryMb,
    standby: options.standby ?? false,
    closeGraceMs: options.closeGraceMs ?? 5_000,
  };
}

function usesRetry(config: unknown): boolean {
  if (typeof config !== 'object' || config === null) return false;
  if ('strategy' in config && config.strategy === 'retry') return true;
  return Object.values(config).some((value) => typeof value === 'object' && usesRetry(value));
}

const rank: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 };

/** Passes on lines from `level` up. Errors of the logger are ignored. */
export function filteredLogger(logger: Logger, level: LogLevel): Logger {
  const pass = (own: keyof Logger) => (message: string, facts?: object) => {
    if (rank[own] < rank[level]) return;
    try {
      logger[own](message, facts);
    } catch {
      // a logger must not fail a request
    }
  };
  return { debug: pass('debug'), info: pass('info'), warn: pass('warn'), error: pass('error') };
}
