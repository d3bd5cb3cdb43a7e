import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { connectEventStream } from '../client/connect-event-stream.js';
import { MessageInbox } from '../testing/message-inbox.js';
import { invocationRequest, message, startStream } from '../testing/messages.js';
import { GrpcStatus } from './grpc-status.js';
import { windows } from './limits.js';
import { openPair } from './stream-pair.test.fixture.js';

const kibibyte = 1_024;
const mebibyte = 1_024 * kibibyte;
const log = message('rpcLog', { message: 'x'.repeat(16 * kibibyte) });

describe('a peer that does not read', () => {
  it('fills the window and the queue of the sender, and no more memory than that', async () => {
    await using pair = await openPair({ client: { limits: { fullBytes: mebibyte } } });
    const worker = new MessageInbox(pair.worker);
    pair.worker.send(startStream('w1'));
    await pair.host.next('startStream');
    pair.host.stream.pause();

    let sent = 0;
    for (let turns = 0; turns < 400; turns++) {
      while (!pair.worker.isFull) {
        pair.worker.send(log);
        sent++;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(pair.worker.isFull).toBe(true);
    expect(pair.worker.queuedBytes).toBeLessThan(2 * mebibyte);
    expect(sent * 16 * kibibyte).toBeLessThan(windows.streamBytes + 4 * mebibyte);
    expect(pair.host.inbox.received.length).toBe(1);

    let waited = false;
    const ready = pair.worker.ready().then(() => (waited = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(waited).toBe(false);
    pair.host.stream.resume();
    await ready;
    await eventually(() => pair.host.inbox.received.length === sent + 1);
    expect(pair.worker.queuedBytes).toBe(0);
    expect(worker.received).toEqual([]);
  });

  it('is waited for by a sender that listens: hundreds of megabytes pass through a small queue', async () => {
    await using pair = await openPair({ client: { limits: { fullBytes: mebibyte } } });
    const worker = new MessageInbox(pair.worker);
    let largest = 0;
    const body = Buffer.alloc(256 * kibibyte);
    for (let index = 0; index < 800; index++) {
      if (!pair.worker.send(invocationRequest(`id-${index}`, { bytes: body }))) await pair.worker.ready();
      largest = Math.max(largest, pair.worker.queuedBytes);
    }
    await eventually(() => pair.host.inbox.received.length === 800);
    expect(largest).toBeLessThan(2 * mebibyte);
    expect(worker.received).toEqual([]);
  });

  it('costs the stream when the sender does not listen either', async () => {
    await using pair = await openPair({ client: { limits: { fullBytes: mebibyte, maxQueuedBytes: 4 * mebibyte } } });
    const worker = new MessageInbox(pair.worker);
    pair.worker.send(startStream('w1'));
    await pair.host.next('startStream');
    pair.host.stream.pause();
    let refused = 0;
    for (let index = 0; index < 2_000 && !pair.worker.ended; index++) {
      if (!pair.worker.send(log)) refused++;
      if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(refused).toBeGreaterThan(0);
    expect(await worker.ended).toMatchObject({ kind: 'error', grpcStatus: GrpcStatus.RESOURCE_EXHAUSTED });
    expect((await worker.ended).reason).toContain('the peer does not read');
    expect(await pair.host.inbox.ended).toMatchObject({ kind: 'cancelled' });
  });

  it('is notified of the end nevertheless, also of one that it caused', async () => {
    await using pair = await openPair();
    const worker = new MessageInbox(pair.worker);
    pair.worker.pause();
    while (!pair.host.stream.isFull) pair.host.send(log);
    pair.host.stream.destroy(GrpcStatus.UNAVAILABLE, 'no time');
    expect((await worker.ended).kind).toBe('cancelled');
    expect(worker.received).toEqual([]);

    const second = await connectEventStream({ url: pair.scripted.url });
    const inbox = new MessageInbox(second);
    const host = await pair.scripted.worker();
    second.pause();
    while (!host.stream.isFull) host.send(log);
    second.end();
    expect(await host.inbox.ended).toMatchObject({ kind: 'halfClosed' });
    expect(await inbox.ended).toMatchObject({ kind: 'local' });
  });

  it('cannot hold up the server either when it stops', async () => {
    await using pair = await openPair();
    const worker = new MessageInbox(pair.worker);
    pair.worker.pause();
    while (!pair.host.stream.isFull) pair.host.send(log);
    await pair.scripted.stop();
    expect(await worker.ended).toMatchObject({ kind: 'reset' });
  });

  it('cannot hold up the end of a stream for long', async () => {
    await using pair = await openPair();
    pair.worker.pause();
    for (let index = 0; index < 300; index++) pair.host.send(log);
    await eventually(() => pair.host.stream.queuedBytes > mebibyte);
    pair.host.stream.destroy(GrpcStatus.UNAVAILABLE, 'no time');
    await pair.host.inbox.ended;
    await eventually(() => pair.scripted.server.openStreams === 0);
    expect(pair.host.stream.ended).toMatchObject({ kind: 'local' });
  });
});
