import { isCodedError } from '@drover/contracts';
import type { Logger } from 'pino';
import { parseConfiguration } from '../configuration/parse-configuration.js';
import type { Environment } from '../configuration/variables.js';
import { configurationInvalid } from '../errors.js';
import type { Lifecycle } from '../lifecycle/lifecycle.js';
import { messageOf } from '../observations/describe-error.js';
import { internalField } from '../observations/log-text.js';
import { createLog, createMetrics, textDestination, type Sinks } from '../observations/sinks.js';
import { createSpanSink } from '../observations/spans.js';
import { deadlineAfter, sleep, systemClock, type Clock } from '../time/clock.js';
import { systemRandomness, type Randomness } from '../time/randomness.js';
import { Health } from './health.js';
import { hasColors, isLogText } from './log-format.js';
import { findLauncher } from './launcher.js';
import { failureReport, parentLink, type ParentLink } from './parent-link.js';
import { processVariables, type ProcessConfiguration } from './process-variables.js';
import { stopRequests, type StopRequests } from './stop-requests.js';

/** What a process provides to its composition root. */
export interface ProcessIo {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly sinks: Sinks;
  readonly health: Health;
}

export interface Composition {
  readonly life: Lifecycle;
  /** Returns facts for the parent process once this one is ready, such as the ports it listens on. */
  readonly announce?: () => Readonly<Record<string, string>>;
}

export interface ProcessDescription<Config> {
  /** In logs and metrics. Processes of one program may have names of their own, by their environment. */
  readonly name: string | ((environment: Environment) => string);
  /** Pure. Throws one error that lists every problem. */
  readonly parse: (environment: Environment) => Config;
  readonly compose: (config: Config, io: ProcessIo) => Composition | Promise<Composition>;
  /** Creates the log; by default on standard output, as text on a terminal and as JSON lines elsewhere. */
  readonly log?: (own: ProcessConfiguration) => Logger;
}

/** Stopped as requested. */
const exitOk = 0;
/** Failed or crashed. */
const exitFailed = 1;
/** Invalid configuration: a restart without a change cannot help. The number is EX_CONFIG of sysexits.h. */
const exitMisconfigured = 78;

/** Extra time for parts that ignore the deadline of their drain, before they are stopped anyway. */
const overdueMs = 1_000;

/**
 * Runs one process from start to exit. The only code that handles signals and calls `process.exit`.
 *
 * On SIGTERM, SIGINT or SIGHUP, or when the parent process or the npm that runs it dies: `/readyz` turns unready, load balancers have
 * `DROVER_DRAIN_DELAY_MS` to notice, work in flight has `DROVER_DRAIN_TIMEOUT_MS` to finish, then all parts stop.
 * A second signal skips to stop. An uncaught error ends the process immediately: all state is in PostgreSQL.
 */
export async function runProcess<Config>(
  { name: named, ...description }: ProcessDescription<Config>,
  host: NodeJS.Process = process,
): Promise<never> {
  const name = typeof named === 'string' ? named : named(host.env);
  const parent = parentLink(host);
  // First of all: before this, a signal kills the process.
  const launcher = parent ? undefined : findLauncher(host);
  const requests = stopRequests(host, { parent, launcher, nowMs: () => systemClock.monotonicMs() });
  setInterval(() => undefined, 2 ** 30); // keeps the event loop alive: only `exit` ends this process
  let log: Logger | undefined;
  try {
    const own = attempt(() => parseConfiguration(name, processVariables, host.env));
    if ('value' in own) {
      log = description.log?.(own.value) ?? standardLog(name, own.value, host);
      crashOnUncaught(host, log);
    }
    const config = attempt(() => description.parse(host.env));
    if (!log || !('value' in own) || !('value' in config)) throw mergeProblems(name, [own, config]);
    await runParts({ ...description, name }, config.value, { own: own.value, log, requests, parent });
    parent?.close();
    return host.exit(exitOk);
  } catch (error) {
    const report = failureReport(error);
    if (log) log.error({ error }, `${name} failed: ${report.message}`);
    else host.stderr.write(`${report.message}\n`);
    await parent?.report(report);
    return host.exit(report.code === configurationInvalid.code ? exitMisconfigured : exitFailed);
  }
}

interface ProcessContext {
  readonly own: ProcessConfiguration;
  readonly log: Logger;
  readonly requests: StopRequests;
  readonly parent: ParentLink | undefined;
}

async function runParts<Config>(
  { name, compose }: Pick<ProcessDescription<Config>, 'compose'> & { readonly name: string },
  config: Config,
  { own, log, requests, parent }: ProcessContext,
): Promise<void> {
  const spans = own.tracingEndpoint
    ? await createSpanSink({ endpoint: own.tracingEndpoint, process: name })
    : undefined;
  const sinks: Sinks = { log, metrics: createMetrics(name), ...(spans && { spans }) };
  // The states of a supervised process concern its supervisor, which has its own.
  const stateLog = parent ? log.child(internalField) : log;
  const health = new Health(({ to }) => stateLog.info({ kind: 'process.state', state: to }, `${name} is ${to}`));
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
    stateLog.info({ kind: 'process.stopping' }, `${name} is stopping: ${messageOf(requests.first.reason)}`);
    health.move('draining');
    await drain(life, own, requests.second, log);
  } catch (error) {
    // A start that was aborted on request is a clean exit.
    if (requests.first.aborted)
      log.info({ kind: 'process.given-up', error }, `${name} aborted its start: ${messageOf(requests.first.reason)}`);
    else failures.push(error);
  }
  try {
    await life?.stop();
  } catch (error) {
    failures.push(error);
  }
  health.move('stopped');
  await spans?.stop();
  if (failures.length > 1) throw new AggregateError(failures, `${name} did not stop cleanly`, { cause: failures[0] });
  if (failures.length === 1) throw failures[0];
}

async function drain(life: Lifecycle, own: ProcessConfiguration, now: AbortSignal, log: Logger): Promise<void> {
  const deadline = deadlineAfter(systemClock, own.drainDelayMs + own.drainTimeoutMs, now);
  try {
    await sleep(systemClock, own.drainDelayMs, deadline.signal);
    const overdue = aborted(deadline.signal).then(() => sleep(systemClock, overdueMs));
    await Promise.race([life.drain(deadline.signal), overdue]);
    deadline.signal.throwIfAborted();
  } catch (error) {
    log.warn({ kind: 'process.drain-cut', error }, `drain ended before all work was finished: ${messageOf(error)}`);
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

/** Merges the problems of the common variables and of the process's own into one error. */
function mergeProblems(process: string, attempts: readonly Attempt<unknown>[]): unknown {
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

function standardLog(name: string, { logLevel, logFormat }: ProcessConfiguration, host: NodeJS.Process): Logger {
  if (!isLogText(logFormat, host.stdout)) return createLog(name, logLevel);
  const options = { colors: hasColors(host.stdout), showsInternals: logLevel === 'debug' };
  return createLog(
    name,
    logLevel,
    textDestination((text) => void host.stdout.write(text), name, options),
  );
}

function crashOnUncaught(host: NodeJS.Process, log: Logger): void {
  host.on('uncaughtException', (error, origin) => {
    log.error(
      { kind: 'process.crashed', error, origin },
      `the process crashed with an uncaught error: ${messageOf(error)}`,
    );
    host.exit(exitFailed);
  });
}
