import { once } from 'node:events';
import { connect as connectHttp2, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { eventually } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { connectEventStream } from '../client/connect-event-stream.js';
import type { EventStream } from '../grpc/event-stream.js';
import { GrpcStatus } from '../grpc/grpc-status.js';
import { eventStreamPath } from '../grpc/headers.js';
import type { StreamEnd } from '../grpc/break-watch.js';
import { encodeStreamingMessage } from '../streaming-messages.js';
import { MessageInbox } from '../testing/message-inbox.js';
import { startStream } from '../testing/messages.js';
import { FunctionRpcServer, type FunctionRpcServerOptions } from './function-rpc-server.js';
import type { RpcRefusal } from './refusal.js';

const servers: FunctionRpcServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function serve(options: Partial<FunctionRpcServerOptions> = {}) {
  const refusals: RpcRefusal[] = [];
  const ends: StreamEnd[] = [];
  const server = new FunctionRpcServer({
    onStream: (stream: EventStream) => void new MessageInbox(stream).ended.then((end) => ends.push(end)),
    onRefused: (refusal) => refusals.push(refusal),
    ...options,
  });
  servers.push(server);
  const { port } = await server.listenLoopback();
  return { server, refusals, ends, port, url: `http://127.0.0.1:${port}` };
}

/** Sends one raw request and returns what came back. */
async function ask(
  url: string,
  headers: OutgoingHttpHeaders,
  body: Buffer | undefined,
): Promise<IncomingHttpHeaders & { ':status'?: number }> {
  const session = connectHttp2(url);
  try {
    const stream = session.request(headers, { endStream: body === undefined });
    let trailers: IncomingHttpHeaders = {};
    stream.on('trailers', (received: IncomingHttpHeaders) => (trailers = received));
    stream.resume();
    if (body) stream.end(body);
    const [response] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    if (!stream.closed) await once(stream, 'close');
    return { ...response, ...trailers };
  } finally {
    session.close();
  }
}

const grpc = (path: string, more: OutgoingHttpHeaders = {}): OutgoingHttpHeaders => ({
  ':method': 'POST',
  ':path': path,
  'content-type': 'application/grpc',
  te: 'trailers',
  ...more,
});

const frame = (payload: Buffer, flag = 0): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(payload.length, 1);
  return Buffer.concat([prefix, payload]);
};

describe('requests that are no calls', () => {
  it('are answered with 405 when they do not post', async () => {
    const { url, refusals } = await serve();
    const answer = await ask(url, { ':method': 'GET', ':path': '/' }, undefined);
    expect(answer).toMatchObject({ ':status': 405, allow: 'POST' });
    expect(refusals).toMatchObject([{ kind: 'method' }]);
  });

  it('are answered with 415 when they are not gRPC', async () => {
    const { url, refusals } = await serve();
    const headers = grpc(eventStreamPath, { 'content-type': 'application/json' });
    expect(await ask(url, headers, Buffer.from('{}'))).toMatchObject({ ':status': 415 });
    expect(refusals).toMatchObject([{ kind: 'contentType', reason: 'application/json is not gRPC' }]);
  });

  it.each(['/AzureFunctionsRpcMessages.FunctionRpc/Other', '/', '/Settlement/Complete'])(
    'are unimplemented when there is no such method: %s',
    async (path) => {
      const { url, refusals } = await serve();
      const answer = await ask(url, grpc(path), frame(Buffer.alloc(0)));
      expect(answer).toMatchObject({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' });
      expect(refusals).toMatchObject([{ kind: 'path' }]);
    },
  );
});

describe('streams that go wrong', () => {
  it.each([
    ['bytes that are no message', frame(Buffer.from([0xff, 0xff])), GrpcStatus.INVALID_ARGUMENT],
    ['a compressed message', frame(Buffer.from([1]), 1), GrpcStatus.UNIMPLEMENTED],
    ['a message that is cut off', frame(Buffer.alloc(100)).subarray(0, 50), GrpcStatus.INVALID_ARGUMENT],
    ['a first message of more than 64 KiB', frame(Buffer.alloc(65_537)), GrpcStatus.RESOURCE_EXHAUSTED],
    ['a claim of four gigabytes', Buffer.from([0, 255, 255, 255, 255]), GrpcStatus.RESOURCE_EXHAUSTED],
  ])('end with a status for both sides: %s', async (_, body, status) => {
    const { url, ends } = await serve();
    const answer = await ask(url, grpc(eventStreamPath), body);
    expect(answer).toMatchObject({ ':status': 200, 'grpc-status': String(status) });
    await eventually(() => expect(ends).toMatchObject([{ kind: 'error', grpcStatus: status }]));
  });

  it('are half-closed when the worker ended its side and disconnected at once', async () => {
    const { url, ends } = await serve();
    const session = connectHttp2(url);
    const stream = session.request(grpc(eventStreamPath), { endStream: false });
    stream.on('error', () => undefined);
    stream.end(frame(encodeStreamingMessage(startStream('w1'))), () => session.destroy());
    await eventually(() => expect(ends).toMatchObject([{ kind: 'halfClosed' }]));
  });

  it('echo the content type they came with', async () => {
    const { url } = await serve();
    const headers = grpc(eventStreamPath, { 'content-type': 'application/grpc+proto' });
    expect(await ask(url, headers, Buffer.alloc(0))).toMatchObject({
      'content-type': 'application/grpc+proto',
      'grpc-status': '0',
    });
  });

  it('end with INTERNAL when `onStream` throws, and the peer does not learn why', async () => {
    const cause = new Error('secret');
    const { url, refusals } = await serve({
      onStream: () => {
        throw cause;
      },
    });
    const answer = await ask(url, grpc(eventStreamPath), Buffer.alloc(0));
    expect(answer['grpc-status']).toBe(String(GrpcStatus.INTERNAL));
    expect(JSON.stringify(answer)).not.toContain('secret');
    expect(refusals).toMatchObject([{ kind: 'handler', cause }]);
  });
});

describe('connections', () => {
  it('without a stream are closed after a while', async () => {
    const { port } = await serve({ limits: { idleConnectionMs: 50 } });
    const socket = connectTcp(port, '127.0.0.1');
    socket.resume();
    await once(socket, 'close');
    expect(socket.bytesWritten).toBe(0);
  });

  it('that do not speak HTTP/2 are closed, without effect on others', async () => {
    const { port, url } = await serve();
    const socket = connectTcp(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\n\r\n'));
    socket.on('error', () => undefined).resume();
    await once(socket, 'close');
    const stream = await connectEventStream({ url });
    expect(stream.ended).toBeUndefined();
    stream.destroy(GrpcStatus.CANCELLED, 'seen');
  });

  it('whose peer is silent are closed', async () => {
    const { port, ends } = await serve({ keepAlive: { intervalMs: 50, timeoutMs: 50 } });
    // A peer that opens a stream and then answers no ping: recorded from a client of node:http2.
    const socket = connectTcp(port, '127.0.0.1');
    socket.on('error', () => undefined).resume();
    const recorded = await recordClient();
    socket.write(recorded);
    await once(socket, 'close');
    await eventually(() => expect(ends).toMatchObject([{ kind: 'reset' }]));
  });

  it('beyond the limit are not let in', async () => {
    const { url } = await serve({ limits: { maxConnections: 1 } });
    const first = await connectEventStream({ url });
    await expect(connectEventStream({ url })).rejects.toThrow('the host closed the connection');
    first.destroy(GrpcStatus.CANCELLED, 'seen');
  });
});

/** The bytes with which a client opens a stream. */
async function recordClient(): Promise<Buffer> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the recorder does not listen on a port');
  const connected = once(server, 'connection');
  const session = connectHttp2(`http://127.0.0.1:${address.port}`);
  session.on('error', () => undefined);
  session.request(grpc(eventStreamPath), { endStream: false }).on('error', () => undefined);
  const [socket] = (await connected) as [Socket];
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await eventually(() => Buffer.concat(chunks).includes('application/grpc') || Buffer.concat(chunks).length > 80);
  session.destroy();
  server.close();
  return Buffer.concat(chunks);
}

describe('the server itself', () => {
  it('listens without TLS only where no other machine can reach it', async () => {
    const server = new FunctionRpcServer({ onStream: () => undefined });
    await expect(server.listenLoopback({ host: '0.0.0.0' })).rejects.toThrow('Use listenTls');
    await server.stop();
  });

  it('reports an address in use', async () => {
    const { port } = await serve();
    const other = new FunctionRpcServer({ onStream: () => undefined });
    await expect(other.listenLoopback({ port })).rejects.toThrow('EADDRINUSE');
    await other.stop();
  });

  it('drains: refuses new calls and waits for open ones', async () => {
    const { server, url, refusals } = await serve();
    const stream = await connectEventStream({ url });
    const inbox = new MessageInbox(stream);
    stream.send(startStream('w1'));
    await eventually(() => server.openStreams === 1);
    const session = connectHttp2(url);
    await once(session, 'connect');
    let drained = false;
    const draining = server.drain(new AbortController().signal).then(() => (drained = true));
    const late = session.request(grpc(eventStreamPath), { endStream: false });
    const [headers] = (await once(late, 'response')) as [IncomingHttpHeaders];
    expect(headers['grpc-status']).toBe(String(GrpcStatus.UNAVAILABLE));
    expect(refusals).toMatchObject([{ kind: 'draining' }]);
    session.destroy();
    expect(drained).toBe(false);
    stream.end();
    await draining;
    await inbox.ended;
  });

  it('stops waiting when the deadline aborts, and stops twice', async () => {
    const { server, url, ends } = await serve();
    const stream = await connectEventStream({ url });
    const inbox = new MessageInbox(stream);
    stream.send(startStream('w1'));
    await eventually(() => server.openStreams === 1);
    await server.drain(AbortSignal.timeout(20));
    expect(server.openStreams).toBe(1);
    await Promise.all([server.stop(), server.stop()]);
    expect(await inbox.ended).toMatchObject({ kind: 'error', grpcStatus: GrpcStatus.UNAVAILABLE });
    await eventually(() => expect(ends).toMatchObject([{ kind: 'local', reason: 'the server stopped' }]));
  });
});

describe('a worker without a host', () => {
  it('fails at once when the port is closed', async () => {
    const { server, url } = await serve();
    await server.stop();
    await expect(connectEventStream({ url })).rejects.toThrow('ECONNREFUSED');
  });

  it('aborts with its signal', async () => {
    await expect(connectEventStream({ url: 'http://127.0.0.1:1', signal: AbortSignal.abort() })).rejects.toThrow(
      'abort',
    );
  });
});
