import { pino, type DestinationStream, type Logger } from 'pino';
import { collectDefaultMetrics, Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { describeError, isError, messageOf } from './describe-error.js';
import { ProcessMetrics } from './process-metrics.js';
import { LineLimit } from './line-limit.js';
import { internalField, toLogText, type LogTextOptions } from './log-text.js';
import type { MaxLines, ObservationLevel, Metric, Observation, Observe, Reader, Readers } from './observation.js';
import type { SpanSink } from './spans.js';

/** The outputs of observations in one process. */
export interface Sinks {
  readonly log: Logger;
  readonly metrics: ProcessMetrics;
  readonly spans?: SpanSink;
}

/** Properties that are redacted in every log line. */
const redacted = ['password', 'secret', 'apiKey', 'authorization'];

/** Creates a log that writes JSON lines to `destination`, by default standard output. */
export function createLog(process: string, level: string, destination: DestinationStream = standardOutput()): Logger {
  return pino(
    {
      level,
      base: { process },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: toFields },
      redact: { paths: redacted.flatMap((name) => [name, `*.${name}`]), censor: '[secret]' },
    },
    destination,
  );
}

/** Synchronous, so that the last lines of a crashing process are written. Errors are ignored: the reader may have exited. */
function standardOutput(): DestinationStream {
  const destination = pino.destination({ fd: 1, sync: true });
  destination.on('error', () => undefined);
  return destination;
}

/** Writes the lines of a log as text for people. */
export function textDestination(
  write: (text: string) => void,
  process: string,
  options: LogTextOptions,
): DestinationStream {
  return {
    write(line) {
      const text = toLogText(line.trimEnd(), process, options);
      if (text !== undefined) write(`${text}\n`);
    },
  };
}

/** Keys that the log adds to every line. */
const reserved = new Set(['level', 'time', 'process', 'msg']);

/** Turns errors into plain data and renames properties that would duplicate a reserved key. */
function toFields(fields: Record<string, unknown>): Record<string, unknown> {
  if (!Object.entries(fields).some(([name, value]) => reserved.has(name) || isError(value))) return fields;
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [reserved.has(name) ? `${name}_` : name, describeError(value)]),
  );
}

/** The histogram of event loop delays wakes a process this often: as good as never. The default is 100 times a second. */
const eventLoopMonitoringPrecision = 2 ** 31 - 1;
/** What is made from that histogram. */
const delayMetrics = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
  (what) => `nodejs_eventloop_lag_${what}_seconds`,
);

/**
 * Creates a registry with the default metrics of a Node.js process: CPU, memory, event loop lag at each scrape, descriptors. Without the
 * histogram of delays, which woke every process 100 times a second and cost 0.4 to 0.6 % of a core each while idle; the share of time in
 * which the event loop was busy needs no timer.
 */
export function createMetrics(process: string): ProcessMetrics {
  const registry = new ProcessMetrics(process);
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision });
  for (const name of delayMetrics) registry.removeSingleMetric(name);
  let before = performance.eventLoopUtilization();
  const utilization = new Gauge({
    name: 'nodejs_eventloop_utilization',
    help: 'Share of time since the last scrape in which the event loop was busy.',
    registers: [],
    collect() {
      const now = performance.eventLoopUtilization();
      this.set(performance.eventLoopUtilization(now, before).utilization);
      before = now;
    },
  });
  registry.registerMetric(utilization);
  return registry;
}

type Apply = (observation: Observation) => void;

/** Lines per second of each kind of event that happens once per call, unless `createObserve` is told otherwise. */
const defaultCallLines = 50;

/**
 * Returns the `observe` function of a process for its table of readers. `callLinesPerSecond` bounds the lines of readers with
 * `isPerCall`; 0 turns them off.
 */
export function createObserve<O extends Observation>(
  readers: Readers<O>,
  sinks: Sinks,
  { callLinesPerSecond = defaultCallLines }: { readonly callLinesPerSecond?: number } = {},
): Observe<O> {
  const applies = new Map<string, readonly Apply[]>();
  for (const [kind, reader] of Object.entries<Reader<never>>(readers)) {
    const own = reader as unknown as Reader<Observation>; // a reader only receives its own kind
    applies.set(kind, applyReader(kind, own, sinks, callLinesPerSecond));
  }
  return (observation) => {
    for (const apply of applies.get(observation.kind) ?? []) {
      try {
        apply(observation);
      } catch (error) {
        logReaderFailure(sinks.log, observation.kind, error);
      }
    }
  };
}

/** A failing reader must not fail the caller of `observe`: it is logged and ignored. */
function logReaderFailure(log: Logger, observed: string, error: unknown): void {
  try {
    log.error(
      { kind: 'observation.unreadable', observed, error },
      `the reader of ${observed} failed: ${messageOf(error)}`,
    );
  } catch {
    // The log itself fails, so there is no place left to report it.
  }
}

function applyReader(
  kind: string,
  reader: Reader<Observation>,
  { log: all, metrics, spans }: Sinks,
  callLinesPerSecond: number,
): readonly Apply[] {
  const applies = (reader.metrics ?? []).map((metric) => applyMetric(metric, metrics));
  const log = reader.isInternal ? all.child(internalField) : all;
  const limits = reader.isPerCall ? limitsOf(kind, log, callLinesPerSecond) : undefined;
  const limitOf = reader.maxLines && limitsBy(kind, log, reader.maxLines);
  applies.push((observation) => {
    const level = typeof reader.level === 'function' ? reader.level(observation) : reader.level;
    if (!log.isLevelEnabled(level)) return;
    const limit = limits ? limits[level] : limitOf?.(observation, level);
    if (limit === undefined || limit.take()) log[level](observation, reader.say(observation));
  });
  if (spans && reader.span) {
    const { span: toSpan } = reader;
    applies.push((observation) => {
      const span = toSpan(observation);
      if (span) spans.record(span);
    });
  }
  return applies;
}

/** A limit for each level, so that many calls that succeed do not hide one that fails. */
function limitsOf(kind: string, log: Logger, perSecond: number): Readonly<Record<ObservationLevel, LineLimit>> {
  const limit = (level: ObservationLevel): LineLimit =>
    new LineLimit(perSecond, (omitted) =>
      log[level]({ kind: 'observation.omitted', omitted }, `${omitted} more lines of ${kind} within this second`),
    );
  return { debug: limit('debug'), info: limit('info'), warn: limit('warn'), error: limit('error') };
}

/** A limit for each value of `by`, so that a flood of one reason does not hide another. */
function limitsBy(
  kind: string,
  log: Logger,
  { perSecond, by }: MaxLines<Observation>,
): (observation: Observation, level: ObservationLevel) => LineLimit {
  const limits = new Map<string, LineLimit>();
  return (observation, level) => {
    const value = by(observation);
    const known = limits.get(value);
    if (known) return known;
    const limit = new LineLimit(perSecond, (omitted) =>
      log[level](
        { kind: 'observation.omitted', omitted },
        `${omitted} more lines of ${kind} (${value}) within this second`,
      ),
    );
    limits.set(value, limit);
    return limit;
  };
}

function applyMetric(metric: Metric<Observation>, registry: Registry): Apply {
  const shape = { name: metric.name, help: metric.help, labelNames: [...metric.labelNames], registers: [registry] };
  switch (metric.type) {
    case 'counter': {
      const counter = registered(registry, metric, Counter) ?? new Counter(shape);
      return (o) => counter.inc(metric.labels(o), metric.value(o));
    }
    case 'gauge': {
      const level = registered(registry, metric, Gauge) ?? new Gauge(shape);
      return (o) => level.set(metric.labels(o), metric.value(o));
    }
    case 'histogram': {
      const histogram =
        registered(registry, metric, Histogram) ?? new Histogram({ ...shape, buckets: [...metric.buckets] });
      return (o) => histogram.observe(metric.labels(o), metric.value(o));
    }
  }
}

/** Returns the metric if another kind of observation has registered it; both must declare the same labels. */
function registered<M extends Counter | Gauge | Histogram>(
  registry: Registry,
  { name, labelNames }: Metric<Observation>,
  kind: new (...args: never[]) => M,
): M | undefined {
  const metric = registry.getSingleMetric(name);
  if (!(metric instanceof kind)) return undefined; // not registered, or with another type, which prom-client rejects
  const known: readonly unknown[] = 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames : [];
  if (known.length !== labelNames.length || !labelNames.every((label) => known.includes(label))) {
    throw new Error(
      `Metric ${name} is declared with labels [${known.join()}] and with labels [${labelNames.join()}]. Use the same.`,
    );
  }
  return metric;
}
