import { Histogram, renderLabels, type ComputedMetric, type Sample } from '@drover/service-kit';

interface Line {
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly durations: Histogram;
}

/** Records how long requests took, by method, route and status. Histograms of plain numbers, since every request is recorded. */
export class RequestDurations {
  /** By route. Bounded: routes are patterns, never the paths of clients, and each has few methods and statuses. */
  readonly #lines = new Map<string, Line[]>();

  record(method: string, route: string, status: number, durationMs: number): void {
    let lines = this.#lines.get(route);
    if (!lines) this.#lines.set(route, (lines = []));
    let line = lines.find((one) => one.status === status && one.method === method);
    if (!line) lines.push((line = { method, route, status, durations: new Histogram() }));
    line.durations.record(durationMs);
  }

  *read(): Generator<Sample> {
    for (const { method, route, status, durations } of [...this.#lines.values()].flat())
      yield* durations.samples(renderLabels({ method, route, status }), 0.001);
  }
}

export function requestMetrics(durations: () => RequestDurations): ComputedMetric[] {
  return [
    {
      name: 'drover_http_request_seconds',
      help: 'From the first byte of a request to the last of its answer',
      type: 'histogram',
      labelNames: ['method', 'route', 'status'],
      read: () => durations().read(),
    },
  ];
}
