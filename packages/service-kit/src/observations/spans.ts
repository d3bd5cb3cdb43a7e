import { ROOT_CONTEXT, SpanStatusCode, trace, TraceFlags, type Attributes } from '@opentelemetry/api';
import { sleep, systemClock } from '../time/clock.js';
import type { TraceContext } from './trace-context.js';

/** A piece of work that has ended, as the observation of its end tells it. */
export interface SpanData {
  readonly name: string;
  readonly trace: TraceContext;
  readonly endedAt: number;
  readonly durationMs: number;
  readonly attributes: Attributes;
  readonly failed: boolean;
}

export interface SpanSink {
  record(span: SpanData): void;
  /** Sends what it still has. A collector that does not answer keeps nobody from stopping: its spans are given up. */
  stop(): Promise<void>;
}

/** How long the last spans may take at the end of a process. */
const lastSpansMs = 2_000;

export interface TracingConfiguration {
  /** Where an OTLP/HTTP collector listens, for example http://127.0.0.1:4318. */
  readonly endpoint: string;
  readonly process: string;
}

/** Sends spans to an OpenTelemetry collector. The SDK is loaded only here, so a process without one does not pay for it. */
export async function createSpanSink({ endpoint, process }: TracingConfiguration): Promise<SpanSink> {
  const [{ BasicTracerProvider, BatchSpanProcessor }, { OTLPTraceExporter }, { resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/sdk-trace-base'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ]);
  // Our ids are made when the work starts, since children refer to them; the SDK's span is made when it ends.
  let next: TraceContext | undefined;
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': `drover-${process}` }),
    idGenerator: {
      generateTraceId: () => next?.traceId ?? '',
      generateSpanId: () => next?.spanId ?? '',
    },
    spanProcessors: [
      new BatchSpanProcessor(new OTLPTraceExporter({ url: new URL('v1/traces', withSlash(endpoint)).href })),
    ],
  });
  const tracer = provider.getTracer('drover');
  const stop = async (): Promise<void> => {
    const sent = new AbortController();
    const shutdown = provider.shutdown().catch(() => undefined);
    const patience = sleep(systemClock, lastSpansMs, sent.signal).catch(() => undefined);
    await Promise.race([shutdown, patience]);
    sent.abort();
  };
  let stopped: Promise<void> | undefined;
  return {
    record(data) {
      next = data.trace;
      const { traceId, parentSpanId } = data.trace;
      const parent =
        parentSpanId === undefined
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: parentSpanId, traceFlags: TraceFlags.SAMPLED });
      const span = tracer.startSpan(
        data.name,
        { startTime: data.endedAt - data.durationMs, attributes: data.attributes },
        parent,
      );
      if (data.failed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(data.endedAt);
    },
    stop: () => (stopped ??= stop()),
  };
}

function withSlash(url: string): string {
  return url.endsWith('/') ? url : `${url}/`;
}
