import path from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { eventually } from '@drover/testkit';
import protobuf from 'protobufjs';
import { afterEach, describe, expect, it } from 'vitest';
import { connectEventStream } from '../client/connect-event-stream.js';
import { packageFolder } from '../generator/schema.js';
import type { SettlementHandlers } from '../server/settlement.js';
import { MessageInbox } from '../testing/message-inbox.js';
import { invocationRequest, invocationResponse, startStream, workerTerminate } from '../testing/messages.js';
import { ScriptedHost } from '../testing/scripted-host.js';
import { GrpcStatus, GrpcStatusError } from './grpc-status.js';
import { eventStreamPath } from './headers.js';

/** The other implementation, as the official workers have it: grpc-js with a codec of protobufjs. */
const root = new protobuf.Root();
root.resolvePath = (_, target) => path.join(packageFolder, 'proto', target);
root.loadSync(['FunctionRpc.proto', 'Settlement.proto']);

interface Plain {
  readonly [key: string]: unknown;
}

function codecOf(name: string): { serialize: (message: Plain) => Buffer; deserialize: (bytes: Buffer) => Plain } {
  const type = root.lookupType(name);
  return {
    serialize: (message) => Buffer.from(type.encode(type.fromObject(message)).finish()),
    deserialize: (bytes) => type.toObject(type.decode(bytes), { longs: Number }),
  };
}

const { serialize, deserialize } = codecOf('AzureFunctionsRpcMessages.StreamingMessage');
const eventStream: grpc.MethodDefinition<Plain, Plain> = {
  path: eventStreamPath,
  requestStream: true,
  responseStream: true,
  requestSerialize: serialize,
  requestDeserialize: deserialize,
  responseSerialize: serialize,
  responseDeserialize: deserialize,
};

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).toReversed()) await step();
});

async function listen(options: Parameters<typeof ScriptedHost.listen>[0] = {}): Promise<ScriptedHost> {
  const host = await ScriptedHost.listen(options);
  cleanUp.push(() => host.stop());
  return host;
}

function grpcClient(url: string): grpc.Client {
  const client = new grpc.Client(new URL(url).host, grpc.credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
  });
  cleanUp.push(() => client.close());
  return client;
}

function openCall(url: string): grpc.ClientDuplexStream<Plain, Plain> {
  return grpcClient(url).makeBidiStreamRequest(eventStream.path, serialize, deserialize);
}

/** How a call ended for grpc-js: its status, and every message before. */
function outcomeOf(call: grpc.ClientDuplexStream<Plain, Plain>): {
  messages: Plain[];
  status: Promise<grpc.StatusObject>;
} {
  const messages: Plain[] = [];
  call.on('data', (received: Plain) => messages.push(received));
  call.on('error', () => undefined);
  return { messages, status: new Promise((resolve) => call.once('status', resolve)) };
}

describe('a worker on grpc-js', () => {
  it('exchanges thousands of messages, and one of 16 MiB, with our host', async () => {
    const host = await listen();
    const call = openCall(host.url);
    const { messages, status } = outcomeOf(call);
    call.write({ requestId: 'r', startStream: { workerId: 'w1' } });
    const worker = await host.worker();
    expect(await worker.next('startStream')).toMatchObject({ requestId: 'r', value: { workerId: 'w1' } });

    const large = Buffer.alloc(16 * 1_048_576, 'x');
    const count = 3_000;
    for (let index = 0; index < count; index++) {
      worker.send(invocationRequest(`id-${index}`));
      call.write({ invocationResponse: { invocationId: `id-${index}`, result: { status: 1 } } });
    }
    worker.send(invocationRequest('large', { bytes: large }));
    call.write({ invocationResponse: { invocationId: 'large', returnValue: { bytes: large } } });

    await eventually(() => messages.length === count + 1 && worker.inbox.received.length === count + 2);
    const ids = messages.map((received) => (received['invocationRequest'] as Plain)['invocationId']);
    expect([0, 1_500, count].map((index) => ids[index])).toEqual(['id-0', 'id-1500', 'large']);
    const last = worker.inbox.received.at(-1);
    expect(last?.kind === 'invocationResponse' && large.equals(last.value.returnValue?.bytes ?? Buffer.alloc(0))).toBe(
      true,
    );

    worker.stream.end();
    expect((await status).code).toBe(grpc.status.OK);
    expect(await worker.inbox.ended).toMatchObject({ kind: 'local' });
  });

  it('receives status and reason when our host aborts', async () => {
    const host = await listen();
    const call = openCall(host.url);
    const { status } = outcomeOf(call);
    call.write({ startStream: { workerId: 'w1' } });
    const worker = await host.worker();
    worker.stream.destroy(GrpcStatus.PERMISSION_DENIED, 'not ünder this name');
    expect(await status).toMatchObject({ code: grpc.status.PERMISSION_DENIED, details: 'not ünder this name' });
  });

  it('ends or cancels, and our host distinguishes the two', async () => {
    const host = await listen();
    const ends: string[] = [];
    for (const leave of [
      (call: grpc.ClientDuplexStream<Plain, Plain>) => call.end(),
      (call: grpc.ClientDuplexStream<Plain, Plain>) => call.cancel(),
    ]) {
      const call = openCall(host.url);
      const { status } = outcomeOf(call);
      call.write({ startStream: { workerId: 'w1' } });
      const worker = await host.worker();
      await worker.next('startStream');
      leave(call);
      ends.push((await worker.inbox.ended).kind);
      await status;
    }
    expect(ends).toEqual(['halfClosed', 'cancelled']);
  });

  it('settles a message through our Settlement service', async () => {
    const calls: unknown[] = [];
    const host = await listen({
      settlement: {
        ...noSettlement,
        complete: (request) => void calls.push(['complete', request]),
        abandon: (request) => void calls.push(['abandon', request]),
        defer: (request) => void calls.push(['defer', request]),
        deadletter: async (request) => {
          await Promise.resolve();
          calls.push(['deadletter', request]);
        },
      },
    });
    const client = grpcClient(host.url);
    const settle = (method: string, request: Plain): Promise<Plain> =>
      unary(client, `/Settlement/${method}`, `${method}Request`, request);
    const properties = Buffer.from([1, 2]);
    await settle('Complete', { locktoken: 'a' });
    await settle('Abandon', { locktoken: 'b', propertiesToModify: properties });
    await settle('Defer', { locktoken: 'c' });
    expect(await settle('Deadletter', { locktoken: 'd', deadletterReason: { value: 'why' } })).toEqual({});
    expect(calls).toMatchObject([
      ['complete', { locktoken: 'a' }],
      ['abandon', { locktoken: 'b', propertiesToModify: properties }],
      ['defer', { locktoken: 'c' }],
      ['deadletter', { locktoken: 'd', deadletterReason: { value: 'why' }, deadletterErrorDescription: undefined }],
    ]);
  });

  it('uses the session of a message through our Settlement service', async () => {
    const calls: unknown[] = [];
    let state: Uint8Array = Buffer.alloc(0);
    const host = await listen({
      settlement: {
        ...noSettlement,
        renewMessageLock: ({ locktoken }) => void calls.push(['renew', locktoken]),
        getSessionState: () => state,
        setSessionState: ({ sessionState }) => void (state = sessionState),
        releaseSession: ({ sessionId }) => void calls.push(['release', sessionId]),
        renewSessionLock: async () => new Date(1_700_000_000_123),
      },
    });
    const client = grpcClient(host.url);
    const call = (method: string, request: Plain, answer?: string): Promise<Plain> =>
      unary(client, `/Settlement/${method}`, `${method}Request`, request, answer);
    await call('RenewMessageLock', { locktoken: 'a' });
    const read = (): Promise<Plain> => call('GetSessionState', { sessionId: 's' }, 'GetSessionStateResponse');
    expect(await read()).toEqual({});
    const large = Buffer.alloc(100_000, 'x');
    await call('SetSessionState', { sessionId: 's', sessionState: large });
    expect(await read()).toEqual({ sessionState: large });
    await call('ReleaseSession', { sessionId: 's' });
    const renewed = await call('RenewSessionLock', { sessionId: 's' }, 'RenewSessionLockResponse');
    const { seconds, nanos } = renewed['lockedUntil'] as { readonly seconds: unknown; readonly nanos: number };
    expect([Number(seconds), nanos]).toEqual([1_700_000_000, 123_000_000]);
    expect(calls).toEqual([
      ['renew', 'a'],
      ['release', 's'],
    ]);
  });

  it('receives the status of a failed settlement, and `onRefused` the error', async () => {
    const refused: unknown[] = [];
    const fails = (): never => {
      throw new Error('secret');
    };
    const host = await listen({
      onRefused: ({ cause }) => refused.push(cause),
      settlement: {
        ...noSettlement,
        complete: () => {
          throw new GrpcStatusError(GrpcStatus.NOT_FOUND, 'the lock is gone');
        },
        abandon: fails,
      },
    });
    const client = grpcClient(host.url);
    const call = (method: string): Promise<Plain> => unary(client, `/Settlement/${method}`, `${method}Request`, {});
    await expect(call('Complete')).rejects.toMatchObject({ code: grpc.status.NOT_FOUND, details: 'the lock is gone' });
    await expect(call('Abandon')).rejects.toMatchObject({ code: grpc.status.INTERNAL, details: 'the call failed' });
    await expect(call('RenewLock')).rejects.toMatchObject({ code: grpc.status.UNIMPLEMENTED });
    expect(refused[0]).toMatchObject({ message: 'secret' });
  });
});

const unused = (): never => {
  throw new Error('not called here');
};
const noSettlement: SettlementHandlers = {
  complete: unused,
  abandon: unused,
  defer: unused,
  deadletter: unused,
  renewMessageLock: unused,
  getSessionState: unused,
  setSessionState: unused,
  releaseSession: unused,
  renewSessionLock: unused,
};

function unary(
  client: grpc.Client,
  method: string,
  requestType: string,
  request: Plain,
  answerType = 'google.protobuf.Empty',
): Promise<Plain> {
  const known = requestType === 'RenewLockRequest' ? 'CompleteRequest' : requestType;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest<Plain, Plain>(
      method,
      codecOf(known).serialize,
      codecOf(answerType).deserialize,
      request,
      (error, answer) => (error ? reject(error) : resolve(answer ?? {})),
    );
  });
}

describe('a host on grpc-js', () => {
  async function grpcServer(handle: (call: grpc.ServerDuplexStream<Plain, Plain>) => void): Promise<string> {
    const server = new grpc.Server({ 'grpc.max_receive_message_length': -1 });
    server.addService({ EventStream: { ...eventStream, originalName: 'EventStream' } }, { EventStream: handle });
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    cleanUp.push(() => server.forceShutdown());
    return `http://127.0.0.1:${port}`;
  }

  it('exchanges messages with our worker, and ends the stream', async () => {
    const heard: Plain[] = [];
    const url = await grpcServer((call) => {
      call.on('data', (received: Plain) => {
        heard.push(received);
        if (received['startStream']) call.write({ requestId: 'r', workerInitRequest: { hostVersion: '4' } });
        if (heard.length === 1_002) call.end();
      });
    });
    const stream = await connectEventStream({ url });
    const inbox = new MessageInbox(stream);
    stream.send(startStream('w1'));
    expect(await inbox.next('workerInitRequest')).toMatchObject({ requestId: 'r', value: { hostVersion: '4' } });
    stream.send(invocationResponse('large', { bytes: Buffer.alloc(16 * 1_048_576) }));
    for (let index = 0; index < 1_000; index++) stream.send(invocationResponse(`id-${index}`));
    expect(await inbox.ended).toMatchObject({ kind: 'halfClosed', grpcStatus: GrpcStatus.OK });
    expect(heard.at(-1)).toMatchObject({ invocationResponse: { invocationId: 'id-999' } });
  });

  it('sends our worker its status when it aborts, or has no such method', async () => {
    const url = await grpcServer((call) => {
      call.emit('error', { code: grpc.status.FAILED_PRECONDITION, details: 'nöt now' });
    });
    const end = await new MessageInbox(await connectEventStream({ url })).ended;
    expect(end).toMatchObject({ kind: 'error', grpcStatus: GrpcStatus.FAILED_PRECONDITION });
    expect(end.reason).toContain('nöt now');

    const empty = new grpc.Server();
    cleanUp.push(() => empty.forceShutdown());
    const port = await new Promise<number>((resolve) =>
      empty.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (_, bound) => resolve(bound)),
    );
    const unknown = await new MessageInbox(await connectEventStream({ url: `http://127.0.0.1:${port}` })).ended;
    expect(unknown).toMatchObject({ kind: 'error', grpcStatus: GrpcStatus.UNIMPLEMENTED });
  });

  it('sees our worker end its side', async () => {
    const ended = new Promise<string>((resolve, reject) => {
      void grpcServer((call) => {
        call
          .on('data', () => undefined)
          .on('end', () => {
            call.end();
            resolve('end');
          });
      }).then(async (url) => {
        const stream = await connectEventStream({ url });
        stream.send(workerTerminate());
        stream.end();
      }, reject);
    });
    expect(await ended).toBe('end');
  });
});
