import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createSpanSink } from './spans.js';

interface Received {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

const servers: Server[] = [];

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has a port
}

async function collector(): Promise<{ readonly endpoint: string; readonly received: Received[] }> {
  const received: Received[] = [];
  const endpoint = await listen((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url, headers } = request;
      received.push({ url, headers, body: JSON.parse(Buffer.concat(chunks).toString()) });
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  return { endpoint, received };
}

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const traceId = '0af7651916cd43dd8448eb211c80319c';
const endedAt = Date.UTC(2030, 0, 1, 12);
const span = { endedAt, durationMs: 250, attributes: {}, failed: false };

describe('createSpanSink', () => {
  it('sends spans to a collector with their own ids, parents, times and attributes', async () => {
    const { endpoint, received } = await collector();
    const sink = await createSpanSink({ endpoint, process: 'runtime' });
    const child = { traceId, spanId: '00000000000000a2', parentSpanId: '00000000000000a1' };
    sink.record({ ...span, name: 'invoke', trace: child, attributes: { function: 'hello', attempt: 2 }, failed: true });
    sink.record({ ...span, name: 'receive', trace: { traceId, spanId: '00000000000000a1' }, durationMs: 1_000 });
    await sink.stop();
    expect(received).toMatchObject([
      {
        url: '/v1/traces',
        headers: { 'content-type': 'application/json' },
        body: {
          resourceSpans: [
            {
              resource: {
                attributes: expect.arrayContaining([
                  { key: 'service.name', value: { stringValue: 'drover-runtime' } },
                ]) as unknown,
              },
              scopeSpans: [{ scope: { name: 'drover' } }],
            },
          ],
        },
      },
    ]);
    const [invoke, receive] = spansOf(received[0]);
    expect(invoke).toMatchObject({
      traceId,
      spanId: '00000000000000a2',
      parentSpanId: '00000000000000a1',
      name: 'invoke',
      startTimeUnixNano: nanos(endedAt - 250),
      endTimeUnixNano: nanos(endedAt),
      attributes: [
        { key: 'function', value: { stringValue: 'hello' } },
        { key: 'attempt', value: { intValue: 2 } },
      ],
      status: { code: 2 },
    });
    expect(receive).toMatchObject({
      traceId,
      spanId: '00000000000000a1',
      name: 'receive',
      startTimeUnixNano: nanos(endedAt - 1_000),
      status: { code: 0 },
    });
    expect(receive).not.toHaveProperty('parentSpanId');
  });

  it('keeps the path of an endpoint that has one', async () => {
    const { endpoint, received } = await collector();
    const sink = await createSpanSink({ endpoint: `${endpoint}/otlp`, process: 'runtime' });
    sink.record({ ...span, name: 'x', trace: { traceId, spanId: '00000000000000a1' } });
    await sink.stop();
    expect(received).toMatchObject([{ url: '/otlp/v1/traces' }]);
  });

  it.each([
    ['is not there', () => Promise.resolve('http://127.0.0.1:1')],
    ['never answers', () => listen(() => undefined)],
    ['fails', () => listen((_, response) => void response.writeHead(500).end())],
  ])('stops without a failure when the collector %s', async (_, endpoint) => {
    const sink = await createSpanSink({ endpoint: await endpoint(), process: 'runtime' });
    sink.record({ ...span, name: 'x', trace: { traceId, spanId: '00000000000000a1' } });
    await expect(sink.stop()).resolves.toBeUndefined();
    await expect(sink.stop()).resolves.toBeUndefined();
  });
});

function nanos(epochMs: number): string {
  return `${epochMs}000000`;
}

function spansOf(received: Received | undefined): unknown[] {
  // The shape of OTLP's JSON encoding, which the assertion above has just seen.
  const body = received?.body as { resourceSpans: { scopeSpans: { spans: unknown[] }[] }[] } | undefined;
  return body?.resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
}
