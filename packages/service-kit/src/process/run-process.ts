import type { Logger } from 'pino';
import { parseConfiguration } from '../configuration/parse-configuration.js';
import type { Environment } from '../configuration/variables.js';
import type { Lifecycle } from '../lifecycle/lifecycle.js';
import { createLog, createMetrics, type Sinks } from '../observations/sinks.js';
import { createSpanSink } from '../observations/spans.js';
import { deadlineAfter, sleep, systemClock, type Clock } from '../time/clock.js';
import { systemRandomness, type Randomness } from '../time/randomness.js';
import { Health } from './health.js';
import { failureReport, parentLink } from './parent-link.js';
import { processVariables, type ProcessConfiguration } from './process-variables.js';

/** What a composition root gets from its process: time, chance, and where observations go. */
export interface ProcessIo {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly sinks: Sinks;
  readonly health: Health;
}

export interface Composition {
  readonly life: Lifecycle;
  /** What others need to know once it is ready: addresses that were chosen at start, for example. */
  readonly announce?: () => Readonly<Record<string, string>>;
}

export interface ProcessDescription<Config> {
  readonly name: string;
  /** Pure: throws one error that lists every problem. */
  readonly parse: (environment: Environment) => Config;
  readonly compose: (config: Config, io: ProcessIo) => Composition | Promise<Composition>;
}

/** Ended well. */
const exitOk = 0;
/** Failed, or ended by a crash. */
const exitFailed = 1;
/** Refused its configuration: starting again without a change is useless. */
export const exitMisconfigured = 78;

/**
 * Runs one process from start to exit. The only place that touches signals and `process.exit`.
 *
 * SIGTERM or SIGINT, or the death of the parent that watches over it: readiness turns red, routers get
 * `DROVER_DRAIN_DELAY_MS` to notice, work in flight gets `DROVER_DRAIN_TIMEOUT_MS` to finish, then all parts stop.
 * A second signal skips to stop. An uncaught error ends the process at once: state lives in PostgreSQL, not here.
 */
export async function runProcess<Config>(
  description: ProcessDescription<Config>,
  host: NodeJS.Process = process,
): Promise<never> {
  const parent = parentLink(host);
  let log: Logger | undefined;
  try {
    const own = parseConfiguration(description.name, processVariables, host.env);
    log = createLog(description.name, own.logLevel);
    crashOnUncaught(host, log);
    const config = description.parse(host.env);
    await live(description, config, own, log, host, parent);
    parent?.close();
    return host.exit(exitOk);
  } catch (error) {
    const misconfigured = failureReport(error);
    if (log) log.error({ error }, `${description.name} failed: ${messageOf(error)}`);
    else host.stderr.write(`${messageOf(error)}\n`);
    await parent?.report(misconfigured);
    return host.exit(
      'code' in misconfigured && misconfigured.code === 'CONFIGURATION_INVALID' ? exitMisconfigured : exitFailed,
    );
  }
}

async function live<Config>(
  description: ProcessDescription<Config>,
  config: Config,
  own: ProcessConfiguration,
  log: Logger,
  host: NodeJS.Process,
  parent: ReturnType<typeof parentLink>,
): Promise<void> {
  const { name } = description;
  const spans = own.tracingEndpoint
    ? await createSpanSink({ endpoint: own.tracingEndpoint, process: name })
    : undefined;
  const sinks: Sinks = { log, metrics: createMetrics(name), ...(spans && { spans }) };
  const health = new Health(({ to }) => log.info({ kind: 'process.state', state: to }, `${name} is ${to}`));
  const requests = stopRequests(host, parent);
  const { life, announce } = await description.compose(config, {
    clock: systemClock,
    randomness: systemRandomness,
    sinks,
    health,
  });
  try {
    await life.start(requests.first);
    health.move('ready');
    await parent?.report({ type: 'ready', announcement: announce?.() ?? {} });
    await aborted(requests.first);
    health.move('draining');
    log.info({ kind: 'process.stopping' }, `${name} stops: ${String(requests.first.reason)}`);
    await drain(life, own, requests.second, log);
  } catch (error) {
    if (!requests.first.aborted) throw error; // a start that was given up on request is a clean end
  } finally {
    await life.stop();
    health.move('stopped');
    await spans?.stop();
    requests.forget();
  }
}

async function drain(life: Lifecycle, own: ProcessConfiguration, now: AbortSignal, log: Logger): Promise<void> {
  const deadline = deadlineAfter(systemClock, own.drainDelayMs + own.drainTimeoutMs, now);
  try {
    await sleep(systemClock, own.drainDelayMs, deadline.signal);
    await life.drain(deadline.signal);
  } catch (error) {
    log.warn({ error }, `draining ended early: ${messageOf(error)}`);
  } finally {
    deadline.cancel();
  }
}

interface StopRequests {
  /** Aborts with the reason to stop. */
  readonly first: AbortSignal;
  /** Aborts when somebody asks a second time. */
  readonly second: AbortSignal;
  forget(): void;
}

function stopRequests(host: NodeJS.Process, parent: ReturnType<typeof parentLink>): StopRequests {
  const [first, second] = [new AbortController(), new AbortController()];
  const ask = (reason: string): void => (first.signal.aborted ? second : first).abort(reason);
  const onSignal = (signal: NodeJS.Signals): void => ask(`received ${signal}`);
  host.on('SIGTERM', onSignal);
  host.on('SIGINT', onSignal);
  parent?.onLost(() => ask('its parent process is gone'));
  return {
    first: first.signal,
    second: second.signal,
    forget: () => void host.off('SIGTERM', onSignal).off('SIGINT', onSignal),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function crashOnUncaught(host: NodeJS.Process, log: Logger): void {
  host.on('uncaughtException', (error, origin) => {
    log.error({ error, origin }, `uncaught: ${messageOf(error)}`);
    host.exit(exitFailed);
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
