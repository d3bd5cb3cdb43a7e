import { isCodedError } from '@drover/contracts';
import type { Logger } from 'pino';
import { parseConfiguration } from '../configuration/parse-configuration.js';
import type { Environment } from '../configuration/variables.js';
import { configurationInvalid } from '../errors.js';
import type { Lifecycle } from '../lifecycle/lifecycle.js';
import { messageOf } from '../observations/describe-error.js';
import { createLog, createMetrics, type Sinks } from '../observations/sinks.js';
import { createSpanSink } from '../observations/spans.js';
import { deadlineAfter, sleep, systemClock, type Clock } from '../time/clock.js';
import { systemRandomness, type Randomness } from '../time/randomness.js';
import { Health } from './health.js';
import { failureReport, parentLink, type ParentLink } from './parent-link.js';
import { processVariables, type ProcessConfiguration } from './process-variables.js';
import { stopRequests, type StopRequests } from './stop-requests.js';

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
  /** Where the log goes; JSON lines on standard output unless told otherwise. */
  readonly log?: (level: string) => Logger;
}

/** Ended well. */
const exitOk = 0;
/** Failed, or ended by a crash. */
const exitFailed = 1;
/** Refused its configuration: starting again without a change is useless. */
export const exitMisconfigured = 78;

/** How long a part that does not heed the end of its drain is waited for before it is stopped all the same. */
const windUpMs = 1_000;

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
  const requests = stopRequests(host, parent); // before all else: until now, a signal means sudden death
  setInterval(() => undefined, 2 ** 30); // only `exit` ends this process, whether or not something else keeps Node busy
  let log: Logger | undefined;
  try {
    const own = attempt(() => parseConfiguration(description.name, processVariables, host.env));
    if ('value' in own) {
      log = description.log?.(own.value.logLevel) ?? createLog(description.name, own.value.logLevel);
      crashOnUncaught(host, log);
    }
    const config = attempt(() => description.parse(host.env));
    if (!log || !('value' in own) || !('value' in config)) throw oneRefusal(description.name, [own, config]);
    await live(description, config.value, { own: own.value, log, requests, parent });
    parent?.close();
    return host.exit(exitOk);
  } catch (error) {
    const report = failureReport(error);
    if (log) log.error({ error }, `${description.name} failed: ${report.message}`);
    else host.stderr.write(`${report.message}\n`);
    await parent?.report(report);
    return host.exit(report.code === configurationInvalid.code ? exitMisconfigured : exitFailed);
  }
}

interface Surroundings {
  readonly own: ProcessConfiguration;
  readonly log: Logger;
  readonly requests: StopRequests;
  readonly parent: ParentLink | undefined;
}

async function live<Config>(
  { name, compose }: ProcessDescription<Config>,
  config: Config,
  { own, log, requests, parent }: Surroundings,
): Promise<void> {
  const spans = own.tracingEndpoint
    ? await createSpanSink({ endpoint: own.tracingEndpoint, process: name })
    : undefined;
  const sinks: Sinks = { log, metrics: createMetrics(name), ...(spans && { spans }) };
  const health = new Health(({ to }) => log.info({ kind: 'process.state', state: to }, `${name} is ${to}`));
  const failures: unknown[] = [];
  let life: Lifecycle | undefined;
  try {
    const io = { clock: systemClock, randomness: systemRandomness, sinks, health };
    const composition = await unlessAborted(Promise.resolve(compose(config, io)), requests.second);
    life = composition.life;
    await unlessAborted(life.start(requests.first), requests.second);
    health.move('ready');
    await parent?.report({ type: 'ready', announcement: composition.announce?.() ?? {} });
    await aborted(requests.first);
    health.move('draining');
    log.info({ kind: 'process.stopping' }, `${name} stops: ${messageOf(requests.first.reason)}`);
    await drain(life, own, requests.second, log);
  } catch (error) {
    // A start that was given up on request is a clean end.
    if (requests.first.aborted) log.info({ kind: 'process.given-up', error }, `${name} gave up: ${messageOf(error)}`);
    else failures.push(error);
  }
  try {
    await life?.stop();
  } catch (error) {
    failures.push(error);
  }
  health.move('stopped');
  await spans?.stop();
  if (failures.length > 1) throw new AggregateError(failures, `${name} did not end cleanly`, { cause: failures[0] });
  if (failures.length === 1) throw failures[0];
}

async function drain(life: Lifecycle, own: ProcessConfiguration, now: AbortSignal, log: Logger): Promise<void> {
  const deadline = deadlineAfter(systemClock, own.drainDelayMs + own.drainTimeoutMs, now);
  try {
    await sleep(systemClock, own.drainDelayMs, deadline.signal);
    const overdue = aborted(deadline.signal).then(() => sleep(systemClock, windUpMs));
    await Promise.race([life.drain(deadline.signal), overdue]);
    deadline.signal.throwIfAborted();
  } catch (error) {
    log.warn({ kind: 'process.drain-cut', error }, `draining ended early: ${messageOf(error)}`);
  } finally {
    deadline.cancel();
  }
}

type Attempt<T> = { readonly value: T } | { readonly failure: unknown };

function attempt<T>(parse: () => T): Attempt<T> {
  try {
    return { value: parse() };
  } catch (failure) {
    return { failure };
  }
}

/** The kit and the process read variables of their own; whoever has to correct them hears of all at once. */
function oneRefusal(process: string, attempts: readonly Attempt<unknown>[]): unknown {
  const failures = attempts.flatMap((tried) => ('failure' in tried ? [tried.failure] : []));
  const problems = new Set<string>();
  for (const failure of failures) {
    if (!isCodedError(failure) || failure.code !== configurationInvalid.code) return failure;
    const { problems: some } = failure.details;
    for (const problem of Array.isArray(some) ? some : [failure.message]) problems.add(String(problem));
  }
  return configurationInvalid({ process, problems: [...problems] });
}

/** Settles as `work` does, or rejects with the signal's reason if that comes first. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return Promise.race([work, aborted(signal).then(() => Promise.reject<T>(signal.reason))]);
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function crashOnUncaught(host: NodeJS.Process, log: Logger): void {
  host.on('uncaughtException', (error, origin) => {
    log.error({ kind: 'process.crashed', error, origin }, `uncaught: ${messageOf(error)}`);
    host.exit(exitFailed);
  });
}
