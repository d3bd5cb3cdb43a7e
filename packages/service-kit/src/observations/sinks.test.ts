import { defineError } from '@drover/contracts';
import { ProcessMetrics } from './process-metrics.js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Secret } from '../secret.js';
import { count, gauge, seconds, type Readers } from './observation.js';
import { createLog, createMetrics, createObserve } from './sinks.js';
import type { SpanData, SpanSink } from './spans.js';

type Sample =
  | { readonly kind: 'job.done'; readonly queue: string; readonly tookMs: number; readonly extra?: unknown }
  | { readonly kind: 'job.failed'; readonly queue: string; readonly error: unknown }
  | { readonly kind: 'pool.sized'; readonly size: number };

const jobs = <O extends { readonly queue: string }>(outcome: string) =>
  count<O, 'queue' | 'outcome'>('t_jobs_total', 'Jobs that ended.', {
    labelNames: ['queue', 'outcome'],
    labels: ({ queue }) => ({ queue, outcome }),
  });

const trace = { traceId: '1'.repeat(32), spanId: '2'.repeat(16) };

const readers: Readers<Sample> = {
  'job.done': {
    level: ({ tookMs }) => (tookMs > 1_000 ? 'warn' : 'debug'),
    say: ({ queue }) => `a job of ${queue} is done`,
    metrics: [jobs('done'), seconds('t_job_seconds', 'How long jobs take.', { valueMs: ({ tookMs }) => tookMs })],
    span: ({ queue, tookMs }) =>
      tookMs < 1
        ? undefined
        : { name: queue, trace, endedAt: 1, durationMs: tookMs, attributes: { queue }, failed: false },
  },
  'job.failed': { level: 'error', say: () => 'a job failed', metrics: [jobs('failed')] },
  'pool.sized': {
    level: 'info',
    say: ({ size }) => `the pool has ${size}`,
    metrics: [gauge('t_pool_size', 'Size of the pool.', { value: ({ size }) => size })],
  },
};

function arrange(level = 'debug', table: Readers<Sample> = readers, callLinesPerSecond = 50) {
  const lines: string[] = [];
  const spans: SpanData[] = [];
  const sink: SpanSink = { record: (span) => void spans.push(span), stop: () => Promise.resolve() };
  const metrics = new ProcessMetrics('sample');
  const log = createLog('sample', level, { write: (line) => lines.push(line) });
  const observe = createObserve<Sample>(table, { log, metrics, spans: sink }, { callLinesPerSecond });
  const entries = (): unknown[] => lines.map((line) => JSON.parse(line));
  return { observe, lines, entries, spans, metrics, log };
}

describe('the lines of events that happen once per call', () => {
  const perCall: Readers<Sample> = {
    ...readers,
    'job.done': { ...readers['job.done'], level: ({ tookMs }) => (tookMs < 0 ? 'error' : 'info'), isPerCall: true },
  };
  const done = (tookMs: number): Sample => ({ kind: 'job.done', queue: 'a', tookMs });

  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('are bounded per second, and the others are counted in one line', async () => {
    const { observe, entries, metrics } = arrange('info', perCall, 2);
    for (let call = 0; call < 1_000; call += 1) observe(done(1));
    expect(entries()).toHaveLength(2);
    vi.advanceTimersByTime(1_000);
    expect(entries().at(-1)).toMatchObject({ kind: 'observation.omitted', omitted: 998, level: 'info' });
    expect(await metrics.metrics()).toMatch(/^t_jobs_total\{queue="a",outcome="done".*\} 1000$/m);
  });

  it('show a failure among many calls that succeed', () => {
    const { observe, entries } = arrange('info', perCall, 2);
    for (let call = 0; call < 100; call += 1) observe(done(1));
    observe(done(-1));
    expect(entries().at(-1)).toMatchObject({ level: 'error', kind: 'job.done' });
  });

  it('are off with a limit of 0, and below the level of the log', () => {
    for (const { observe, entries } of [arrange('info', perCall, 0), arrange('warn', perCall, 9)]) {
      for (let call = 0; call < 100; call += 1) observe(done(1));
      vi.advanceTimersByTime(5_000);
      expect(entries()).toEqual([]);
    }
  });
});

describe('the log line of an observation', () => {
  it('says that it is for operators where its reader says so', () => {
    const { observe, entries } = arrange('info', {
      ...readers,
      'pool.sized': { ...readers['pool.sized'], isInternal: true },
    });
    observe({ kind: 'pool.sized', size: 3 });
    expect(entries()).toMatchObject([{ kind: 'pool.sized', audience: 'operator' }]);
  });

  it('carries time, level, process, kind, properties and sentence', () => {
    const { observe, entries } = arrange();
    observe({ kind: 'pool.sized', size: 3 });
    expect(entries()).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as unknown,
        process: 'sample',
        kind: 'pool.sized',
        size: 3,
        msg: 'the pool has 3',
      },
    ]);
  });

  it('is left out beyond the limit of its kind and reason, and all are counted', async () => {
    const maxLines = { perSecond: 3, by: ({ queue }: { queue: string }) => queue };
    const { observe, entries, metrics } = arrange('debug', {
      ...readers,
      'job.failed': { ...readers['job.failed'], maxLines },
    });
    for (let index = 0; index < 1_000; index += 1) observe({ kind: 'job.failed', queue: 'a', error: 1 });
    observe({ kind: 'job.failed', queue: 'b', error: 1 });
    // A second may have passed meanwhile.
    expect(entries().length).toBeLessThan(500);
    expect(entries().at(-1)).toMatchObject({ queue: 'b' });
    expect(await metrics.metrics()).toMatch(/^t_jobs_total\{queue="a",outcome="failed".*\} 1000$/m);
  });

  it('is one line of JSON whatever its values hold', () => {
    const { observe, lines, entries } = arrange();
    const nasty = ['a\nb', '\r\n', '\u0000\u0007\u001b[31m', '"},{"', '\u2028\u2029', '%s %d %j %%', '\\n'];
    const long = 'x\n'.repeat(500);
    for (const queue of [...nasty, long]) observe({ kind: 'job.done', queue, tookMs: 1, extra: { [queue]: [queue] } });
    expect(lines).toHaveLength(nasty.length + 1);
    for (const line of lines) expect(line.indexOf('\n')).toBe(line.length - 1);
    expect(entries()).toMatchObject([...nasty, long].map((queue) => ({ queue, extra: { [queue]: [queue] } })));
    expect(entries()[5]).toMatchObject({ msg: 'a job of %s %d %j %% is done' });
  });

  it('is written also for values that JSON does not know', () => {
    const { observe, entries } = arrange();
    const circle: Record<string, unknown> = { big: 10n, nothing: undefined, action: () => 1, not: Number.NaN };
    circle['self'] = circle;
    observe({ kind: 'job.done', queue: 'q', tookMs: 1, extra: circle });
    expect(entries()).toMatchObject([{ kind: 'job.done', extra: { big: 10 } }]);
  });

  it('has no key twice, also when a property is named like one of the log', () => {
    const { log, lines, entries } = arrange();
    log.info({ level: 1, time: 2, process: 'other', msg: 'mine' }, 'said');
    expect(entries()).toMatchObject([
      { level: 'info', process: 'sample', msg: 'said', level_: 1, time_: 2, process_: 'other', msg_: 'mine' },
    ]);
    for (const key of ['level', 'time', 'process', 'msg']) expect(lines[0]?.split(`"${key}":`)).toHaveLength(2);
  });

  it('is left out below the level of the log, while its metrics count', async () => {
    const { observe, lines, metrics } = arrange('warn');
    observe({ kind: 'job.done', queue: 'q', tookMs: 1 });
    observe({ kind: 'job.done', queue: 'q', tookMs: 2_000 });
    expect(lines).toHaveLength(1);
    expect(await metrics.metrics()).toContain('t_jobs_total{queue="q",outcome="done",process="sample"} 2');
  });

  it('never shows a secret, nor what is called like one', () => {
    const { observe, lines } = arrange();
    const secret = new Secret('hunter2');
    observe({ kind: 'job.done', queue: 'q', tookMs: 1, extra: { secret, token: secret, password: 'hunter2' } });
    observe({ kind: 'job.failed', queue: 'q', error: Object.assign(new Error('no'), { token: secret }) });
    const careless = { password: 'hunter2', apiKey: 'hunter2', authorization: 'hunter2', secret: 'hunter2' };
    const { log, lines: more } = arrange();
    log.info({ ...careless, headers: careless }, 'said');
    expect(lines.join('') + more.join('')).not.toContain('hunter2');
    expect(lines).toHaveLength(2);
  });

  it('does not change what it was given', () => {
    const { log, lines } = arrange();
    const frozen = Object.freeze({ deep: Object.freeze({ password: 'x' }), error: Object.freeze(new Error('frozen')) });
    log.info(frozen, 'said');
    expect(frozen.deep.password).toBe('x');
    expect(lines[0]).toContain('"message":"frozen"');
  });

  it('shows an error with its code, its details and the chain of its causes', () => {
    const { observe, entries } = arrange();
    const lost = defineError<{ id: string }>('T_LOST', {
      fault: 'platform',
      retryable: true,
      status: 503,
      message: ({ id }) => `lost ${id}`,
      help: 'Wait.',
    });
    const root = Object.assign(new Error('pipe closed\nat once'), { errno: -32 });
    observe({ kind: 'job.failed', queue: 'q', error: lost({ id: 'w1' }, new TypeError('middle', { cause: root })) });
    expect(entries()).toMatchObject([
      {
        error: {
          type: 'CodedError',
          code: 'T_LOST',
          message: 'lost w1',
          details: { id: 'w1' },
          stack: expect.stringContaining('lost w1') as unknown,
          cause: { type: 'TypeError', message: 'middle', cause: { message: 'pipe closed\nat once', errno: -32 } },
        },
      },
    ]);
  });

  it('shows each of several errors, a circle of causes, and what is no error at all', () => {
    const { observe, entries } = arrange();
    const circle = new Error('round');
    circle.cause = circle;
    observe({ kind: 'job.failed', queue: 'q', error: new AggregateError([new Error('one'), 'two'], 'both') });
    observe({ kind: 'job.failed', queue: 'q', error: circle });
    observe({ kind: 'job.failed', queue: 'q', error: 'just text' });
    expect(entries()).toMatchObject([
      { error: { message: 'both', errors: [{ message: 'one' }, 'two'] } },
      { error: { message: 'round', cause: { message: 'round' } } },
      { error: 'just text' },
    ]);
  });
});

describe('the metrics of observations', () => {
  it('are a counter fed by two kinds, a gauge and a histogram, in exposition text', async () => {
    const { observe, metrics } = arrange();
    observe({ kind: 'job.done', queue: 'a', tookMs: 3 });
    observe({ kind: 'job.done', queue: 'a', tookMs: 40_000 });
    observe({ kind: 'job.failed', queue: 'a"\n', error: 'x' });
    observe({ kind: 'pool.sized', size: 5 });
    observe({ kind: 'pool.sized', size: 2 });
    const text = (await metrics.metrics()).split('\n');
    expect(text).toEqual(
      expect.arrayContaining([
        '# HELP t_jobs_total Jobs that ended.',
        '# TYPE t_jobs_total counter',
        't_jobs_total{queue="a",outcome="done",process="sample"} 2',
        't_jobs_total{queue="a\\"\\n",outcome="failed",process="sample"} 1',
        '# TYPE t_pool_size gauge',
        't_pool_size{process="sample"} 2',
        '# TYPE t_job_seconds histogram',
        't_job_seconds_bucket{le="0.0025",process="sample"} 0',
        't_job_seconds_bucket{le="0.005",process="sample"} 1',
        't_job_seconds_bucket{le="30",process="sample"} 1',
        't_job_seconds_bucket{le="60",process="sample"} 2',
        't_job_seconds_bucket{le="+Inf",process="sample"} 2',
        't_job_seconds_sum{process="sample"} 40.003',
        't_job_seconds_count{process="sample"} 2',
      ]),
    );
    expect(text.filter((line) => line.startsWith('# TYPE t_jobs_total'))).toHaveLength(1);
  });

  it('refuse one name with two types or two sets of labels, before anything is observed', () => {
    const clash = (metric: Parameters<typeof count>): Readers<Sample> => ({
      ...readers,
      'pool.sized': { ...readers['pool.sized'], metrics: [count(...metric)] },
    });
    expect(() => arrange('info', clash(['t_jobs_total', 'Other labels.']))).toThrow('labels [queue,outcome] and');
    expect(() => arrange('info', clash(['t_job_seconds', 'Not a histogram.']))).toThrow('already been registered');
  });

  it('come with the figures of the process, under its name', async () => {
    const text = await createMetrics('sample').metrics();
    expect(text).toMatch(/^process_resident_memory_bytes\{process="sample"\} \d+$/m);
    expect(text).toContain('nodejs_eventloop_lag_seconds{process="sample"}');
    expect(text).toMatch(/^nodejs_eventloop_utilization\{process="sample"\} [\d.e-]+$/m);
    expect(text).not.toContain('nodejs_eventloop_lag_p99'); // its histogram would wake an idle process 100 times a second
  });
});

describe('createObserve', () => {
  it('records a span where the reader makes one', () => {
    const { observe, spans } = arrange();
    observe({ kind: 'job.done', queue: 'short', tookMs: 0 });
    observe({ kind: 'job.done', queue: 'long', tookMs: 7 });
    expect(spans).toEqual([
      { name: 'long', trace, endedAt: 1, durationMs: 7, attributes: { queue: 'long' }, failed: false },
    ]);
  });

  it('ignores a kind without a reader', () => {
    const { observe, lines } = arrange();
    const stranger = { kind: 'toString' } as unknown as Sample; // from another version of the union
    observe(stranger);
    expect(lines).toEqual([]);
  });

  it('never throws: a mistake of one reader is logged and the others still read', async () => {
    const { observe, entries, metrics, spans } = arrange('debug', {
      ...readers,
      'job.done': {
        ...readers['job.done'],
        say: () => {
          throw new Error('no words');
        },
      },
      'pool.sized': { ...readers['pool.sized'], metrics: [count('t_minus', 'Down.', { value: () => -1 })] },
    });
    observe({ kind: 'job.done', queue: 'q', tookMs: 5 });
    observe({ kind: 'pool.sized', size: 1 });
    expect(entries()).toMatchObject([
      { kind: 'observation.unreadable', observed: 'job.done', level: 'error', error: { message: 'no words' } },
      { kind: 'observation.unreadable', observed: 'pool.sized' },
      { kind: 'pool.sized', msg: 'the pool has 1' },
    ]);
    expect(spans).toHaveLength(1);
    expect(await metrics.metrics()).toContain('t_jobs_total{queue="q",outcome="done",process="sample"} 1');
  });

  it('never throws, not even when the log itself does', () => {
    const log = createLog('sample', 'info', {
      write: () => {
        throw new Error('disk full');
      },
    });
    const observe = createObserve<Sample>(readers, { log, metrics: new ProcessMetrics('sample') });
    expect(() => observe({ kind: 'pool.sized', size: 1 })).not.toThrow();
  });
});
