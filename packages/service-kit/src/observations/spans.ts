import { ROOT_CONTEXT, SpanStatusCode, trace, TraceFlags, type Attributes } from '@opentelemetry/api';
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
  stop(): Promise<void>;
}

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
    stop: () => provider.shutdown(),
  };
}

function withSlash(url: string): string {
  return url.endsWith('/') ? url : `${url}/`;
}
