import { pino, type DestinationStream, type Logger } from 'pino';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { describeError, isError, messageOf } from './describe-error.js';
import type { Metric, Observation, Observe, Reader, Readers } from './observation.js';
import type { SpanSink } from './spans.js';

/** Where observations end up in this process. */
export interface Sinks {
  readonly log: Logger;
  readonly metrics: Registry;
  readonly spans?: SpanSink;
}

/** Names that Drover's own code never logs in the open, whatever object they come with. */
const hidden = ['password', 'secret', 'apiKey', 'authorization'];

/** One JSON line an event on `destination`, standard output unless told otherwise. */
export function createLog(process: string, level: string, destination: DestinationStream = standardOutput()): Logger {
  return pino(
    {
      level,
      base: { process },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: toFields },
      redact: { paths: hidden.flatMap((name) => [name, `*.${name}`]), censor: '[secret]' },
    },
    destination,
  );
}

/** Written before `write` returns, so that the last words of a process are read. Whoever read it may be gone by then. */
function standardOutput(): DestinationStream {
  const destination = pino.destination({ fd: 1, sync: true });
  destination.on('error', () => undefined);
  return destination;
}

/** What the log itself puts on every line. */
const reserved = new Set(['level', 'time', 'process', 'msg']);

/** Errors become plain data, and a property named like one of the log's own gets another name: no key stands twice. */
function toFields(fields: Record<string, unknown>): Record<string, unknown> {
  if (!Object.entries(fields).some(([name, value]) => reserved.has(name) || isError(value))) return fields;
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [reserved.has(name) ? `${name}_` : name, describeError(value)]),
  );
}

/** A registry with the process's own figures (CPU, memory, event loop lag, descriptors) in it. */
export function createMetrics(process: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ process });
  collectDefaultMetrics({ register: registry });
  return registry;
}

type Apply = (observation: Observation) => void;

/** Turns one table of readers into the function that the rest of the process calls. */
export function createObserve<O extends Observation>(readers: Readers<O>, sinks: Sinks): Observe<O> {
  const applies = new Map<string, readonly Apply[]>();
  for (const [kind, reader] of Object.entries<Reader<never>>(readers)) {
    applies.set(kind, applyReader(reader as unknown as Reader<Observation>, sinks)); // each reader only meets its own kind
  }
  return (observation) => {
    for (const apply of applies.get(observation.kind) ?? []) {
      try {
        apply(observation);
      } catch (error) {
        tellUnreadable(sinks.log, observation.kind, error);
      }
    }
  };
}

/** Who observes is in the middle of something else: a reader's mistake is told in the log and goes no further. */
function tellUnreadable(log: Logger, observed: string, error: unknown): void {
  try {
    log.error({ kind: 'observation.unreadable', observed, error }, `cannot read a ${observed}: ${messageOf(error)}`);
  } catch {
    // the log is what does not work, so there is nobody left to tell
  }
}

function applyReader(reader: Reader<Observation>, { log, metrics, spans }: Sinks): readonly Apply[] {
  const applies = (reader.metrics ?? []).map((metric) => applyMetric(metric, metrics));
  applies.push((observation) => {
    const level = typeof reader.level === 'function' ? reader.level(observation) : reader.level;
    if (log.isLevelEnabled(level)) log[level](observation, reader.say(observation));
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

/** Two kinds of observation may feed one metric; it is registered once, and both must mean the same labels. */
function registered<M extends Counter | Gauge | Histogram>(
  registry: Registry,
  { name, labelNames }: Metric<Observation>,
  kind: new (...args: never[]) => M,
): M | undefined {
  const metric = registry.getSingleMetric(name);
  if (!(metric instanceof kind)) return undefined; // nothing of that name, or of another type, which prom-client refuses
  const known: readonly unknown[] = 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames : [];
  if (known.length !== labelNames.length || !labelNames.every((label) => known.includes(label))) {
    throw new Error(
      `the metric ${name} has the labels [${known.join()}] in one place, [${labelNames.join()}] in another`,
    );
  }
  return metric;
}
