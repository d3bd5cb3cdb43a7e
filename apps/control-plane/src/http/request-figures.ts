import { Histogram, type ComputedMetric, type Sample } from '@drover/service-kit';

interface Line {
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly durations: Histogram;
}

/** How long requests took, by what they asked for and how they were answered. Plain numbers: every request comes by here. */
export class RequestFigures {
  /** By route, of which there are few, as there are methods and statuses of each: addresses are not among them. */
  readonly #lines = new Map<string, Line[]>();

  note(method: string, route: string, status: number, durationMs: number): void {
    let lines = this.#lines.get(route);
    if (!lines) this.#lines.set(route, (lines = []));
    let line = lines.find((one) => one.status === status && one.method === method);
    if (!line) lines.push((line = { method, route, status, durations: new Histogram() }));
    line.durations.record(durationMs);
  }

  *read(): Generator<Sample> {
    for (const { method, route, status, durations } of [...this.#lines.values()].flat())
      yield* durations.samples({ method, route, status }, 0.001);
  }
}

export function requestMetrics(figures: () => RequestFigures): ComputedMetric[] {
  return [
    {
      name: 'drover_http_request_seconds',
      help: 'From the first byte of a request to the last of its answer',
      type: 'histogram',
      labelNames: ['method', 'route', 'status'],
      read: () => figures().read(),
    },
  ];
}
