import { connect, type IncomingHttpHeaders } from 'node:http2';
import { TestAuthority } from '@drover/function-rpc/testing';
import { Secret, systemClock, systemRandomness } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import type { AttachedRuntime } from './attachments.js';
import type { ControllerMessage, RuntimeMessage } from './messages.js';
import { openScaleLink } from './open-scale-link.js';
import { ScaleLinkClient } from './scale-link-client.js';
import { ScaleLinkServer, type ScaleLinkServerOptions } from './scale-link-server.js';
import { attachMessage, hostedApplication } from './testing/link-messages.js';

const token = new Secret('a-token-for-tests');
const cleanUps: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

class Controller {
  readonly runtimes: AttachedRuntime[] = [];
  readonly received: RuntimeMessage[] = [];
  readonly detached: string[] = [];
  readonly refused: string[] = [];
  refusal: string | undefined;
  readonly server: ScaleLinkServer;

  constructor(options: Partial<ScaleLinkServerOptions> = {}) {
    this.server = new ScaleLinkServer({
      host: '127.0.0.1',
      port: 0,
      token,
      tls: undefined,
      clock: systemClock,
      refusal: () => this.refusal,
      onRefused: (_address, reason) => this.refused.push(reason),
      onAttached: (runtime) => {
        this.runtimes.push(runtime);
        return {
          received: (message) => this.received.push(message),
          detached: (reason) => this.detached.push(reason),
        };
      },
      ...options,
    });
  }

  async start(): Promise<this> {
    await this.server.start();
    cleanUps.push(() => this.server.stop());
    return this;
  }
}

class Runtime {
  readonly commands: ControllerMessage[] = [];
  readonly detached: string[] = [];
  readonly unreachable: string[] = [];
  readonly client: ScaleLinkClient;

  constructor(urls: readonly string[], secret = token, tls?: Parameters<typeof openScaleLink>[0]['tls']) {
    this.client = new ScaleLinkClient({
      open: urls.map((url) => (signal) => openScaleLink({ url, token: secret, tls }, signal)),
      onDetached: (reason) => this.detached.push(reason),
      onUnreachable: (reason) => this.unreachable.push(reason),
      clock: systemClock,
      randomness: systemRandomness,
    });
    this.client.serve({
      attach: () => attachMessage(),
      attached: () => undefined,
      received: (command) => this.commands.push(command),
    });
    cleanUps.push(() => this.client.stop());
  }

  async start(): Promise<this> {
    await this.client.start();
    return this;
  }
}

describe('scale link over gRPC', () => {
  it('carries commands to the runtime and messages to the controller', async () => {
    const controller = await new Controller().start();
    const runtime = await new Runtime([controller.server.url]).start();
    await eventually(() => expect(controller.runtimes).toHaveLength(1));
    const directory = 'ä'.repeat(200_000); // longer than one HTTP/2 frame, and more bytes than characters
    const [version] = hostedApplication().versions;
    const application = hostedApplication({ versions: version ? [{ ...version, directory }] : [] });
    controller.runtimes[0]?.send({ kind: 'host', token: 3, commandId: 1, application });
    await eventually(() => expect(runtime.commands).toEqual([{ kind: 'host', token: 3, commandId: 1, application }]));
    runtime.client.send({ kind: 'answer', commandId: 1 });
    await eventually(() => expect(controller.received).toEqual([{ kind: 'answer', commandId: 1 }]));
  });

  it('refuses a runtime with another token, and says so', async () => {
    const controller = await new Controller().start();
    const runtime = await new Runtime([controller.server.url], new Secret('another')).start();
    await eventually(() => expect(runtime.unreachable[0]).toBe('UNAUTHENTICATED: the token is missing or not valid'));
    expect(controller.refused).toContain('the token is missing or not valid');
    expect(controller.runtimes).toEqual([]);
    expect(runtime.client.isAttached).toBe(false);
  });

  it('attaches to the controller that leads, and to its successor when it ends', async () => {
    const first = await new Controller().start();
    const second = await new Controller().start();
    second.refusal = 'this scale controller does not lead';
    const runtime = await new Runtime([second.server.url, first.server.url]).start();
    await eventually(() => expect(first.runtimes).toHaveLength(1));
    expect(runtime.unreachable).toEqual(['FAILED_PRECONDITION: this scale controller does not lead']);
    second.refusal = undefined;
    await first.server.stop();
    await eventually(() => expect(second.runtimes).toHaveLength(1));
    expect(runtime.detached).toHaveLength(1);
  });

  it('attaches again to a controller that starts again at its port', async () => {
    const first = await new Controller().start();
    const port = Number(new URL(first.server.url).port);
    const runtime = await new Runtime([first.server.url]).start();
    await eventually(() => expect(first.runtimes).toHaveLength(1));
    await first.server.stop();
    await eventually(() => expect(runtime.unreachable.length).toBeGreaterThan(0));
    const second = await new Controller({ port }).start();
    await eventually(() => expect(second.runtimes).toHaveLength(1));
  });

  it('ends the stream of a runtime whose message has another shape, and serves the others', async () => {
    const controller = await new Controller().start();
    const other = await new Runtime([controller.server.url]).start();
    await eventually(() => expect(controller.runtimes).toHaveLength(1));
    const answers = [
      await callWith(controller.server.url, '{"kind":"attach"}'),
      await callWith(controller.server.url, 'no json'),
      await callWith(controller.server.url, '{"kind":"constructor"}'),
      await callWith(controller.server.url, '', 16 * 1_048_576 + 1),
    ];
    expect(answers).toEqual([
      ['3', expect.stringContaining('the field runtimeId of a attach message')],
      ['3', 'a message is not JSON'],
      ['3', expect.stringContaining('the message kind "constructor" is not known')],
      ['8', expect.stringContaining('exceeds the limit of 16777216')],
    ]);
    expect(other.client.isAttached).toBe(true);
    expect(controller.runtimes).toHaveLength(1);
  });

  it('needs a certificate of the same authority over TLS, beside the token', async () => {
    const authority = await TestAuthority.create();
    const strange = await TestAuthority.create();
    const credentials = await authority.issue({ commonName: 'controller' });
    const controller = await new Controller({ tls: () => Promise.resolve(credentials) }).start();
    const { url } = controller.server;
    expect(url).toMatch(/^https:/);
    const trusted = await authority.issue({ commonName: 'runtime' });
    const untrusted = { ...(await strange.issue({ commonName: 'runtime' })), ca: trusted.ca };
    const stranger = await new Runtime([url], token, untrusted).start();
    await eventually(() => expect(stranger.unreachable.length).toBeGreaterThan(0));
    const withoutToken = await new Runtime([url], new Secret('another'), trusted).start();
    await eventually(() => expect(withoutToken.unreachable[0]).toContain('UNAUTHENTICATED'));
    expect(controller.runtimes).toEqual([]);
    await new Runtime([url], token, trusted).start();
    await eventually(() => expect(controller.runtimes).toHaveLength(1));
  });

  it('names the setting of an address that it cannot listen on', async () => {
    const { server } = await new Controller().start();
    const port = Number(new URL(server.url).port);
    await expect(new Controller({ port }).start()).rejects.toThrow(/EADDRINUSE.*DROVER_SCALE_LINK_PORT/);
    await expect(new Controller({ host: '0.0.0.0' }).start()).rejects.toThrow(/loopback.*DROVER_SCALE_LINK_HOST/);
  });
});

/** Sends one message as a bare HTTP/2 client, or only its prefix if it claims `length` bytes. Resolves with status and message. */
async function callWith(url: string, text: string, length = Buffer.byteLength(text)): Promise<unknown[]> {
  const session = connect(url);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(length, 1);
  const stream = session.request({
    ':method': 'POST',
    ':path': '/drover.scale.v1.ScaleLink/Attach',
    'content-type': 'application/grpc+json',
    authorization: `Bearer ${token.reveal()}`,
    te: 'trailers',
  });
  const trailers = new Promise<IncomingHttpHeaders>((resolve) => stream.once('trailers', resolve));
  stream.resume();
  stream.write(Buffer.concat([prefix, Buffer.from(text)]));
  const { 'grpc-status': status, 'grpc-message': message } = await trailers;
  session.destroy();
  return [status, decodeURIComponent(String(message))];
}
