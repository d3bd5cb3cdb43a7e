import type { SpanData } from './spans.js';

/** An event in a process. Each process has one union of its kinds; log, metrics and spans are derived from it. */
export interface Observation {
  readonly kind: string;
}

/** Records an event. Never throws and never blocks. */
export type Observe<O extends Observation> = (observation: O) => void;

export type ObservationLevel = 'debug' | 'info' | 'warn' | 'error';

/** How one kind of observation appears in log, metrics and spans. */
export interface Reader<O extends Observation> {
  readonly level: ObservationLevel | ((observation: O) => ObservationLevel);
  /** Returns the log message. All properties of the observation are logged as fields. */
  readonly say: (observation: O) => string;
  /** The lines are about the platform itself: they are in the log, and on a terminal only at level debug. */
  readonly isInternal?: boolean;
  /** Happens once per call: at most so many lines per second and level as `createObserve` is told are logged. */
  readonly isPerCall?: boolean;
  /** For what any client can cause: lines beyond the limit are omitted and reported as a number. Metrics count all. */
  readonly maxLines?: MaxLines<O>;
  readonly metrics?: readonly Metric<O>[];
  readonly span?: (observation: O) => SpanData | undefined;
}

export interface MaxLines<O extends Observation> {
  readonly perSecond: number;
  /** Each value has a limit of its own. There must be few of them: nothing that a client sends. */
  readonly by: (observation: O) => string;
}

/** One reader for every kind of the union, checked by the compiler. */
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

/** A counter: incremented by one per observation, or by `value`. */
export function count<O, Name extends string = never>(
  name: string,
  help: string,
  options: MetricOptions<O, Name> & { readonly value?: (observation: O) => number } = {},
): Metric<O> {
  return { type: 'counter', ...base(name, help, options), value: options.value ?? (() => 1) };
}

/** A gauge: set to the value of the latest observation. */
export function gauge<O, Name extends string = never>(
  name: string,
  help: string,
  options: MetricOptions<O, Name> & { readonly value: (observation: O) => number },
): Metric<O> {
  return { type: 'gauge', ...base(name, help, options), value: options.value };
}

/** Upper bounds from one millisecond to one minute. */
const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** A histogram in seconds of a duration that the observation has in milliseconds. */
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
