import { pino, type DestinationStream, type Logger } from 'pino';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Metric, Observation, Observe, Reader, Readers } from './observation.js';
import type { SpanSink } from './spans.js';

/** Where observations end up in this process. */
export interface Sinks {
  readonly log: Logger;
  readonly metrics: Registry;
  readonly spans?: SpanSink;
}

/** One JSON line an event on `destination`, standard output unless told otherwise. */
export function createLog(
  process: string,
  level: string,
  destination: DestinationStream = pino.destination({ fd: 1, sync: true }),
): Logger {
  return pino(
    {
      level,
      base: { process },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: pino.stdSerializers.err },
      redact: {
        paths: ['*.password', '*.secret', '*.apiKey', '*.authorization', 'password', 'apiKey'],
        censor: '[secret]',
      },
    },
    destination,
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
  const applies = new Map<string, Apply>();
  for (const [kind, reader] of Object.entries<Reader<never>>(readers)) {
    applies.set(kind, applyReader(reader as unknown as Reader<Observation>, sinks)); // each reader only meets its own kind
  }
  return (observation) => applies.get(observation.kind)?.(observation);
}

function applyReader(reader: Reader<Observation>, { log, metrics, spans }: Sinks): Apply {
  const updates = (reader.metrics ?? []).map((metric) => applyMetric(metric, metrics));
  return (observation) => {
    for (const update of updates) update(observation);
    const level = typeof reader.level === 'function' ? reader.level(observation) : reader.level;
    if (log.isLevelEnabled(level)) log[level](observation, reader.say(observation));
    if (spans && reader.span) {
      const span = reader.span(observation);
      if (span) spans.record(span);
    }
  };
}

function applyMetric(metric: Metric<Observation>, registry: Registry): Apply {
  const shape = { name: metric.name, help: metric.help, labelNames: [...metric.labelNames], registers: [registry] };
  switch (metric.type) {
    case 'counter': {
      const counter = registered(registry, metric.name, Counter) ?? new Counter(shape);
      return (o) => counter.inc(metric.labels(o), metric.value(o));
    }
    case 'gauge': {
      const level = registered(registry, metric.name, Gauge) ?? new Gauge(shape);
      return (o) => level.set(metric.labels(o), metric.value(o));
    }
    case 'histogram': {
      const histogram =
        registered(registry, metric.name, Histogram) ?? new Histogram({ ...shape, buckets: [...metric.buckets] });
      return (o) => histogram.observe(metric.labels(o), metric.value(o));
    }
  }
}

/** Two kinds of observation may feed one metric; it is registered once. */
function registered<M extends Counter | Gauge | Histogram>(
  registry: Registry,
  name: string,
  kind: new (...args: never[]) => M,
): M | undefined {
  const metric = registry.getSingleMetric(name);
  return metric instanceof kind ? metric : undefined;
}
