import { Registry, type Metric as RegisteredMetric } from 'prom-client';
import { renderLabels, type ComputedMetric, type Sample } from './computed-metrics.js';
import type { Labels } from './observation.js';

/** How long a page is written at a stretch before other work of the event loop gets its turn. */
const sliceMs = 5;
/** The time is read once for this many lines. */
const linesPerLook = 64;
/** Pieces of a page are about this long, so that none of them takes long to send. */
const pieceLength = 65_536;

/**
 * All metrics of one process. A page with the metrics of thousands of functions takes long to write, so `page` writes it in slices
 * between which the event loop turns: a process that answers a scrape goes on to serve calls and to renew its leases.
 */
export class ProcessMetrics extends Registry {
  readonly #labels: string;
  readonly #computed = new Map<string, ComputedMetric>();
  /** Set while a page is written. */
  #page: Promise<readonly Buffer[]> | undefined;

  constructor(process: string) {
    super();
    this.setDefaultLabels({ process });
    this.#labels = renderLabels({ process });
  }

  /** Adds metrics that are computed at each scrape. */
  compute(metrics: readonly ComputedMetric[]): void {
    for (const metric of metrics) {
      const { name, help, type } = metric;
      // Registered as well, so that no other metric takes the name. `page` reads the samples itself.
      const placeholder = {
        name,
        help,
        type,
        get: () => Promise.resolve({ name, help, type, values: [] }),
        reset: () => undefined,
      };
      this.registerMetric(placeholder as unknown as RegisteredMetric); // a registry only calls `get` and `reset`
      this.#computed.set(name, metric);
    }
  }

  /** Returns the page in the Prometheus text format, in pieces. Scrapes at the same time share one page. */
  page(): Promise<readonly Buffer[]> {
    return (this.#page ??= this.#write().finally(() => (this.#page = undefined)));
  }

  override async metrics(): Promise<string> {
    return Buffer.concat(await this.page()).toString('utf8');
  }

  async #write(): Promise<readonly Buffer[]> {
    const pieces: Buffer[] = [];
    let text = '';
    let sliceUntilMs = performance.now() + sliceMs;
    const breathe = async (): Promise<void> => {
      if (text.length >= pieceLength) {
        pieces.push(Buffer.from(text));
        text = '';
      }
      if (performance.now() < sliceUntilMs) return;
      await new Promise((resolve) => setImmediate(resolve));
      sliceUntilMs = performance.now() + sliceMs;
    };
    for (const { name, help, type } of this.getMetricsAsArray()) {
      text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
      let lines = 0;
      for (const { labels, value, suffix = '' } of await this.#read(name)) {
        const own = typeof labels === 'string' ? labels : renderLabels(labels);
        text += `${name}${suffix}{${own === '' ? '' : `${own},`}${this.#labels}} ${toText(value)}\n`;
        lines += 1;
        // Not within a histogram, whose lines must agree with each other.
        if (lines < linesPerLook || suffix === '_bucket' || suffix === '_sum') continue;
        lines = 0;
        await breathe();
      }
      text += '\n';
      await breathe();
    }
    pieces.push(Buffer.from(text));
    return pieces;
  }

  async #read(metric: string): Promise<Iterable<Sample>> {
    const computed = this.#computed.get(metric);
    if (computed) return computed.read();
    const registered = await this.getSingleMetric(metric)?.get();
    return (registered?.values ?? []).map(({ labels, value, ...more }) => ({
      labels: labels as Labels, // prom-client has checked them
      value,
      // Lines of a histogram have names of their own.
      ...('metricName' in more &&
        typeof more.metricName === 'string' && { suffix: more.metricName.slice(metric.length) }),
    }));
  }
}

function toText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}
