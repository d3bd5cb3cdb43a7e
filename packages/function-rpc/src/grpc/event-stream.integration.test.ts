import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { MessageInbox } from '../testing/message-inbox.js';
import { invocationRequest, invocationResponse, message, startStream } from '../testing/messages.js';
import { encodeStreamingMessage } from '../streaming-messages.js';
import { GrpcStatus } from './grpc-status.js';
import type { StreamEnd } from './break-watch.js';
import { openPair } from './stream-pair.test.fixture.js';

const mebibyte = 1_048_576;
const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => `id-${index}`);

describe('messages', () => {
  it('arrive in order, ten thousand in each direction at once', async () => {
    await using pair = await openPair();
    const worker = new MessageInbox(pair.worker);
    const count = 10_000;
    for (const id of ids(count)) {
      pair.host.send(invocationRequest(id));
      pair.worker.send(invocationResponse(id));
      if (!pair.host.stream.isFull && !pair.worker.isFull) continue;
      await pair.host.stream.ready();
      await pair.worker.ready();
    }
    await eventually(() => worker.received.length === count && pair.host.inbox.received.length === count);
    const idOf = (received: (typeof worker.received)[number]): string =>
      received.kind === 'invocationRequest' || received.kind === 'invocationResponse'
        ? received.value.invocationId
        : '';
    expect(worker.received.map(idOf)).toEqual(ids(count));
    expect(pair.host.inbox.received.map(idOf)).toEqual(ids(count));
  });

  it('of 16 MiB pass both ways, between others', async () => {
    await using pair = await openPair();
    const worker = new MessageInbox(pair.worker);
    const body = Buffer.alloc(16 * mebibyte, 'x');
    body.write('end', body.length - 3);
    for (const [end, send] of [
      ['host', pair.host.stream],
      ['worker', pair.worker],
    ] as const) {
      send.send(invocationRequest(`${end} before`));
      send.send(invocationRequest(`${end} large`, { bytes: body }));
      send.send(invocationRequest(`${end} after`));
    }
    for (const inbox of [worker, pair.host.inbox]) {
      const received = [
        await inbox.next('invocationRequest'),
        await inbox.next('invocationRequest'),
        await inbox.next('invocationRequest'),
      ];
      expect(received.map(({ value }) => value.invocationId.split(' ')[1])).toEqual(['before', 'large', 'after']);
      const bytes = received[1]?.value.inputData[0]?.data?.bytes ?? Buffer.alloc(0);
      expect(body.equals(bytes)).toBe(true);
    }
  });

  it('that are encoded already arrive as others do', async () => {
    await using pair = await openPair();
    pair.worker.sendEncoded(encodeStreamingMessage(startStream('w1', 'r1')));
    expect(await pair.host.next('startStream')).toEqual({
      requestId: 'r1',
      kind: 'startStream',
      value: { workerId: 'w1' },
    });
  });

  it('wait while the stream is paused, and then arrive in order', async () => {
    await using pair = await openPair();
    const { inbox, stream } = pair.host;
    pair.worker.send(startStream('w1'));
    await inbox.next('startStream');
    stream.pause();
    for (const id of ids(500)) pair.worker.send(invocationResponse(id));
    await eventually(() => pair.worker.queuedBytes === 0);
    // A question and its arrival: by now the others have arrived as well.
    stream.send(message('workerStatusRequest', {}));
    await new MessageInbox(pair.worker).next('workerStatusRequest');
    expect(inbox.received.length).toBe(1);
    stream.resume();
    await eventually(() => inbox.received.length === 501);
  });

  it('stop at the one whose handler pauses, even in the middle of a packet', async () => {
    await using pair = await openPair();
    const seen: string[] = [];
    pair.worker.start({
      onMessage(received) {
        if (received.kind === 'invocationRequest') seen.push(received.value.invocationId);
        pair.worker.pause();
      },
      onEnd: () => undefined,
    });
    for (const id of ids(3)) pair.host.send(invocationRequest(id));
    await eventually(() => seen.length === 1);
    pair.worker.resume();
    expect(seen).toEqual(['id-0', 'id-1']);
    pair.worker.resume();
    await eventually(() => expect(seen).toEqual(ids(3)));
  });
});

describe('the end of a stream', () => {
  it('that the worker ends is half-closed on both sides, after the last message', async () => {
    await using pair = await openPair();
    const worker = new MessageInbox(pair.worker);
    pair.worker.send(startStream('w1'));
    pair.worker.send(invocationResponse('last'));
    pair.worker.end();
    expect(await pair.host.inbox.ended).toMatchObject({ kind: 'halfClosed' });
    expect(pair.host.inbox.received.map(({ kind }) => kind)).toEqual(['startStream', 'invocationResponse']);
    expect(await worker.ended).toMatchObject({ kind: 'local', grpcStatus: GrpcStatus.OK });
    await eventually(() => pair.scripted.server.openStreams === 0);
  });

  it('waits for messages that a pause holds back', async () => {
    await using pair = await openPair();
    const seen: string[] = [];
    const ended = new Promise<StreamEnd>((resolve) => {
      pair.worker.start({
        onMessage(received) {
          if (received.kind === 'invocationRequest') seen.push(received.value.invocationId);
          pair.worker.pause();
        },
        onEnd: resolve,
      });
    });
    for (const id of ids(3)) pair.host.send(invocationRequest(id));
    pair.host.stream.end();
    await pair.host.inbox.ended;
    for (const count of [1, 2]) {
      await eventually(() => seen.length === count);
      expect(pair.worker.ended).toBeUndefined();
      pair.worker.resume();
    }
    await eventually(() => seen.length === 3);
    pair.worker.resume();
    expect(await ended).toMatchObject({ kind: 'halfClosed' });
    expect(seen).toEqual(ids(3));
  });

  it('that the host ends is half-closed on both sides, after the last message', async () => {
    await using pair = await openPair();
    const worker = new MessageInbox(pair.worker);
    pair.host.send(invocationRequest('last'));
    pair.host.stream.end();
    expect(await worker.ended).toMatchObject({ kind: 'halfClosed', grpcStatus: GrpcStatus.OK });
    expect(worker.received.length).toBe(1);
    expect(await pair.host.inbox.ended).toMatchObject({ kind: 'local', grpcStatus: GrpcStatus.OK });
  });

  it('that the host aborts sends status and reason to the worker', async () => {
    await using pair = await openPair();
    const worker = new MessageInbox(pair.worker);
    pair.host.stream.destroy(GrpcStatus.PERMISSION_DENIED, 'worker w1 is unknown hère');
    expect(await pair.host.inbox.ended).toMatchObject({ kind: 'local', grpcStatus: GrpcStatus.PERMISSION_DENIED });
    expect(await worker.ended).toEqual({
      kind: 'error',
      grpcStatus: GrpcStatus.PERMISSION_DENIED,
      reason: 'PERMISSION_DENIED: worker w1 is unknown hère',
    });
  });

  it('that the worker breaks off is a cancellation for the host', async () => {
    await using pair = await openPair();
    const worker = new MessageInbox(pair.worker);
    pair.worker.destroy(GrpcStatus.CANCELLED, 'changed its mind');
    expect(await worker.ended).toMatchObject({ kind: 'local', reason: 'changed its mind' });
    expect(await pair.host.inbox.ended).toMatchObject({ kind: 'cancelled' });
  });

  it('is caused by the signal of the worker as well', async () => {
    const given = new AbortController();
    await using pair = await openPair({ client: { signal: given.signal } });
    const worker = new MessageInbox(pair.worker);
    given.abort();
    expect(await worker.ended).toMatchObject({ kind: 'local', grpcStatus: GrpcStatus.CANCELLED });
    expect(await pair.host.inbox.ended).toMatchObject({ kind: 'cancelled' });
  });

  it('is reported once, and nothing can be sent afterwards', async () => {
    await using pair = await openPair();
    const ends: StreamEnd[] = [];
    pair.worker.start({ onMessage: () => undefined, onEnd: (end) => ends.push(end) });
    pair.worker.destroy(GrpcStatus.CANCELLED, 'first');
    pair.worker.destroy(GrpcStatus.INTERNAL, 'second');
    pair.worker.end();
    await pair.host.inbox.ended;
    await pair.scripted.stop();
    expect(ends.map(({ reason }) => reason)).toEqual(['first']);
    expect(pair.worker.ended?.reason).toBe('first');
    expect(pair.worker.send(startStream('w1'))).toBe(false);
    expect(pair.worker.queuedBytes).toBe(0);
    await pair.worker.ready();
  });

  it('that came before `start` is reported to the handler of `start`', async () => {
    await using pair = await openPair();
    pair.host.stream.destroy(GrpcStatus.UNAVAILABLE, 'too early');
    await pair.host.inbox.ended;
    const end = await new MessageInbox(pair.worker).ended;
    expect(end).toMatchObject({ kind: 'error', grpcStatus: GrpcStatus.UNAVAILABLE });
  });

  it('follows the error of a handler, and sends no detail of it to the peer', async () => {
    await using pair = await openPair();
    const failure = new Error('secret detail');
    const ended = new Promise<StreamEnd>((resolve) => {
      pair.worker.start({
        onMessage() {
          throw failure;
        },
        onEnd: resolve,
      });
    });
    pair.host.send(invocationRequest('i'));
    expect(await ended).toMatchObject({ kind: 'error', grpcStatus: GrpcStatus.INTERNAL, cause: failure });
    expect((await ended).reason).not.toContain('secret');
    await pair.host.inbox.ended;
  });

  it('follows a message that is too long, with the reason on both sides', async () => {
    await using pair = await openPair();
    const worker = new MessageInbox(pair.worker);
    pair.host.stream.maxMessageBytes = 1_000;
    pair.worker.send(message('rpcLog', { message: 'x'.repeat(900) }));
    await pair.host.next('rpcLog');
    pair.worker.send(message('rpcLog', { message: 'x'.repeat(1_000) }));
    const expected = { kind: 'error', grpcStatus: GrpcStatus.RESOURCE_EXHAUSTED };
    expect(await pair.host.inbox.ended).toMatchObject(expected);
    expect(await worker.ended).toMatchObject(expected);
    expect((await worker.ended).reason).toContain('exceeds the limit of 1000');
  });
});
