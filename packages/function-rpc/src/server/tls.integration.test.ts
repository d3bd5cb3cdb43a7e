import { connect } from 'node:tls';
import { once } from 'node:events';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectEventStream } from '../client/connect-event-stream.js';
import type { ClientTls } from '../client/open-socket.js';
import type { EventStream } from '../grpc/event-stream.js';
import type { TlsCredentials } from '../grpc/peer.js';
import { MessageInbox } from '../testing/message-inbox.js';
import { startStream } from '../testing/messages.js';
import { TestAuthority } from '../testing/test-authority.js';
import { FunctionRpcServer } from './function-rpc-server.js';
import type { TlsListener } from './listeners.js';
import type { RpcRefusal } from './refusal.js';

const spiffeId = 'spiffe://drover.test/tenant/t1/app/a1/worker/w1';

describe('listenTls', () => {
  const streams: EventStream[] = [];
  const refusals: RpcRefusal[] = [];
  let authority: TestAuthority;
  let hostCredentials: TlsCredentials;
  let workerCredentials: TlsCredentials;
  let server: FunctionRpcServer;
  let listener: TlsListener;

  beforeAll(async () => {
    authority = await TestAuthority.create();
    hostCredentials = await authority.issue({ commonName: 'host' });
    workerCredentials = await authority.issue({ commonName: 'worker w1', uriNames: [spiffeId] });
    server = new FunctionRpcServer({
      onStream(stream) {
        streams.push(stream);
        stream.start({ onMessage: () => undefined, onEnd: () => undefined });
      },
      onRefused: (refusal) => refusals.push(refusal),
    });
    listener = await server.listenTls({ host: '127.0.0.1', ...hostCredentials });
  });
  afterAll(() => server.stop());

  const dial = (tls: ClientTls): Promise<EventStream> =>
    connectEventStream({ url: `https://localhost:${listener.port}`, tls });

  async function expectRefusal(tls: ClientTls): Promise<void> {
    const before = streams.length;
    await expect(dial(tls)).rejects.toThrow();
    expect(streams.length).toBe(before);
  }

  it('admits a worker with a certificate of its authority, and reports its identity', async () => {
    const worker = await dial(workerCredentials);
    worker.send(startStream('w1'));
    await eventually(() => streams.length === 1);
    const peer = streams[0]?.peer;
    if (peer?.kind !== 'tls') return expect.unreachable();
    expect(peer.certificate).toMatchObject({ subject: 'CN=worker w1', uriNames: [spiffeId] });
    expect(peer.certificate.fingerprint256).toMatch(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
    expect(worker.peer).toMatchObject({ kind: 'tls', certificate: { subject: 'CN=host' } });
    worker.end();
  });

  it('refuses a worker without a certificate', async () => {
    const withoutOne = { ca: authority.ca } as unknown as ClientTls;
    await expectRefusal(withoutOne);
    await eventually(() => expect(refusals.at(-1)).toMatchObject({ kind: 'tls' }));
  });

  it('refuses a worker with a certificate of another authority', async () => {
    const other = await TestAuthority.create('another authority');
    const foreign = await other.issue({ commonName: 'worker w1', uriNames: [spiffeId] });
    await expectRefusal({ ...foreign, ca: authority.ca });
    await eventually(() => expect(refusals.at(-1)?.reason).toContain('not trusted'));
  });

  it('refuses a worker whose certificate has expired', async () => {
    const expired = await authority.issue({ commonName: 'worker w1', validForMs: -1_000 });
    await expectRefusal(expired);
    await eventually(() => expect(refusals.at(-1)?.reason).toContain('EXPIRED'));
  });

  it('is refused by a worker that does not trust it, or looks for another name', async () => {
    const other = await TestAuthority.create('another authority');
    await expect(dial({ ...workerCredentials, ca: other.ca })).rejects.toThrow('certificate');
    await expect(dial({ ...workerCredentials, serverName: 'elsewhere.test' })).rejects.toThrow('elsewhere.test');
  });

  it('speaks TLS 1.3 and HTTP/2 only', async () => {
    const { port } = listener;
    const old = connect({ port, host: '127.0.0.1', ...hostCredentials, ca: authority.ca, maxVersion: 'TLSv1.2' });
    await expect(once(old, 'secureConnect')).rejects.toThrow();
    const http1 = connect({
      port,
      host: '127.0.0.1',
      ...hostCredentials,
      ca: authority.ca,
      ALPNProtocols: ['http/1.1'],
    });
    await expect(once(http1, 'secureConnect').then(() => once(http1, 'data'))).rejects.toThrow();
    http1.destroy();
  });

  it('renews its certificate without losing a stream', async () => {
    const before = await dial(workerCredentials);
    const inbox = new MessageInbox(before);
    listener.renew(await authority.issue({ commonName: 'renewed host' }));
    const after = await dial(workerCredentials);
    expect(after.peer).toMatchObject({ certificate: { subject: 'CN=renewed host' } });
    expect(before.ended).toBeUndefined();
    before.end();
    await inbox.ended;
    after.end();
  });
});
