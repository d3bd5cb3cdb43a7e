import type { SpanData } from './spans.js';

/** Something that happened, said once; each process has one union of these. */
export interface Observation {
  readonly kind: string;
}

/** Says that something happened. Never throws and never waits. */
export type Observe<O extends Observation> = (observation: O) => void;

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** What log, metrics and spans make of one kind of observation. */
export interface Reader<O extends Observation> {
  readonly level: LogLevel | ((observation: O) => LogLevel);
  /** The sentence in the log. All other properties of the observation are logged beside it. */
  readonly say: (observation: O) => string;
  readonly metrics?: readonly Metric<O>[];
  readonly span?: (observation: O) => SpanData | undefined;
}

/** One reader for every kind of the union: forgetting one does not compile. */
export type Readers<O extends Observation> = {
  readonly [Kind in O['kind']]: Reader<Extract<O, { readonly kind: Kind }>>;
};

export type Labels = Readonly<Record<string, string | number>>;

interface MetricBase<O> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly labels: (observation: O) => Labels;
  readonly value: (observation: O) => number;
}

export type Metric<O> =
  | (MetricBase<O> & { readonly type: 'counter' | 'gauge' })
  | (MetricBase<O> & { readonly type: 'histogram'; readonly buckets: readonly number[] });

interface MetricOptions<O, Name extends string> {
  readonly labelNames?: readonly Name[];
  readonly labels?: (observation: O) => Readonly<Record<Name, string | number>>;
}

/** A counter: goes up by one an observation, or by `value`. */
export function count<O, Name extends string = never>(
  name: string,
  help: string,
  options: MetricOptions<O, Name> & { readonly value?: (observation: O) => number } = {},
): Metric<O> {
  return { type: 'counter', ...base(name, help, options), value: options.value ?? (() => 1) };
}

/** A gauge: takes the value of the latest observation. */
export function gauge<O, Name extends string = never>(
  name: string,
  help: string,
  options: MetricOptions<O, Name> & { readonly value: (observation: O) => number },
): Metric<O> {
  return { type: 'gauge', ...base(name, help, options), value: options.value };
}

/** Latencies from one millisecond to a minute. */
const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** A histogram of seconds, fed from an observation's milliseconds. */
export function seconds<O, Name extends string = never>(
  name: string,
  help: string,
  options: MetricOptions<O, Name> & { readonly valueMs: (observation: O) => number },
): Metric<O> {
  const { valueMs } = options;
  return { type: 'histogram', ...base(name, help, options), buckets: secondsBuckets, value: (o) => valueMs(o) / 1000 };
}

function base<O, Name extends string>(
  name: string,
  help: string,
  { labelNames = [], labels }: MetricOptions<O, Name>,
): Omit<MetricBase<O>, 'value'> {
  return { name, help, labelNames, labels: labels ?? (() => ({})) };
}
