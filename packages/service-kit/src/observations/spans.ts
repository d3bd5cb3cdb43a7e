import { ROOT_CONTEXT, SpanStatusCode, trace, TraceFlags, type Attributes } from '@opentelemetry/api';
import { sleep, systemClock } from '../time/clock.js';
import type { TraceContext } from './trace-context.js';

/** A finished piece of work, as the observation of its end describes it. */
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
  /** Sends the remaining spans. Gives up on a collector that does not answer, so that it cannot delay the shutdown. */
  stop(): Promise<void>;
}

/** Limit on sending the remaining spans at shutdown. */
const flushTimeoutMs = 2_000;

export interface TracingConfiguration {
  /** URL of an OTLP/HTTP collector, for example http://127.0.0.1:4318. */
  readonly endpoint: string;
  readonly process: string;
}

/** Creates a sink that sends spans to an OpenTelemetry collector. Loads the SDK lazily: most processes have no collector. */
export async function createSpanSink({ endpoint, process }: TracingConfiguration): Promise<SpanSink> {
  const [{ BasicTracerProvider, BatchSpanProcessor }, { OTLPTraceExporter }, { resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/sdk-trace-base'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ]);
  // Ids are generated when the work starts, because children refer to them; the SDK's span is created when it ends.
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
    const patience = sleep(systemClock, flushTimeoutMs, sent.signal).catch(() => undefined);
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
