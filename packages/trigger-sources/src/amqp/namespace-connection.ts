import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '@drover/service-kit';
import type { Connection, Container } from 'rhea';
import { toConditionError } from './amqp-condition-error.js';
import { AmqpRequestLink } from './amqp-request-link.js';
import { accessToken, audienceOf, tokenRenewalMs, type NamespaceAddress } from './shared-access.js';
import { TransferFrames } from './transfer-frames.js';

/** The service pings at half of it; a connection that is silent for twice as long is lost. */
const idleTimeoutMs = 60_000;
const closeWithinMs = 1_000;

interface NamespaceConnectionOptions {
  readonly container: Container;
  readonly namespace: NamespaceAddress;
  /** The address that is dialled, if it is another than the namespace. */
  readonly customEndpoint: { readonly host: string; readonly port: number } | undefined;
  readonly clock: Clock;
  /** Distinguishes link names. */
  readonly id: string;
  /** Names this client to the service. */
  readonly product: string;
}

/**
 * One AMQP connection to a namespace with its access tokens, from `open` until it is lost or closed. It never reconnects:
 * `lost` resolves with the reason, and its owner opens another one.
 */
export class NamespaceConnection {
  readonly #options: NamespaceConnectionOptions;
  readonly #amqp: Connection;
  readonly #audiences = new Set<string>();
  /** For sessions that read their transfers themselves. */
  readonly transfers = new TransferFrames();
  readonly lost: Promise<unknown>;
  #lose: (reason: unknown) => void = () => undefined;
  #isLost = false;
  #socket: Socket | undefined;
  #tokens: AmqpRequestLink | undefined;
  #management: AmqpRequestLink | undefined;
  #cancelRenewal: () => void = () => undefined;

  constructor(options: NamespaceConnectionOptions) {
    this.#options = options;
    const { container, namespace, product } = options;
    this.lost = new Promise((resolve) => (this.#lose = resolve));
    this.#amqp = container.create_connection({
      ...this.#dialled(),
      hostname: namespace.host,
      username: namespace.access.kind === 'shared-key' ? namespace.access.name : 'anonymous',
      reconnect: false,
      idle_time_out: idleTimeoutMs,
      tcp_no_delay: true,
      session_buffer_size: { incoming: 8_192, outgoing: 256 },
      properties: { product, 'user-agent': product },
      connection_details: () => ({
        ...this.#dialled(),
        connect: (port: number, host: string, _: unknown, onConnected: () => void) =>
          this.#dial(port, host, onConnected),
      }),
    } as Parameters<Container['create_connection']>[0]); // its type lacks tcp_no_delay
    for (const event of ['connection_error', 'connection_close', 'disconnected', 'protocol_error', 'error'])
      this.#amqp.on(event, (context: unknown) => this.#end(errorOf(event, context, this.#amqp)));
  }

  get amqp(): Connection {
    return this.#amqp;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Rejects if the service does not answer, denies access, or `signal` aborts. */
  async open(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const abort = (): void => this.#end(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    const opened = new Promise<void>((resolve) => this.#amqp.once('connection_open', () => resolve()));
    try {
      this.#amqp.connect();
      this.transfers.attach(this.#amqp);
      await Promise.race([opened, this.lost.then((reason) => Promise.reject(toError(reason)))]);
      this.#tokens = new AmqpRequestLink(this.#amqp, '$cbs', `cbs-${this.#options.id}`);
      this.#scheduleRenewal();
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Sends a token for an address of the namespace, and renews it as long as the connection lives. */
  async authorize(address: string, signal: AbortSignal): Promise<void> {
    const audience = audienceOf(this.#options.namespace, address);
    await this.#putToken(audience, signal);
    this.#audiences.add(audience);
  }

  /** Forgets the token of an address. */
  release(address: string): void {
    this.#audiences.delete(audienceOf(this.#options.namespace, address));
  }

  /** Signs a token for an address of the namespace. */
  tokenFor(address: string): string {
    const { namespace, clock } = this.#options;
    return accessToken(namespace, audienceOf(namespace, address), clock.now());
  }

  /** Requests to `$management` about an entity, always the same. */
  async management(entity: string, signal: AbortSignal): Promise<AmqpRequestLink> {
    if (this.#management) return this.#management;
    await this.authorize(`${entity}/$management`, signal);
    this.#management ??= new AmqpRequestLink(this.#amqp, '$management', `management-${this.#options.id}`);
    return this.#management;
  }

  /** Writes a frame that rhea does not know of. */
  write(frame: Buffer): void {
    if (!this.#isLost) this.#socket?.write(frame);
  }

  /** Ends the connection, at the latest after a second. */
  async close(): Promise<void> {
    if (!this.#isLost) this.#amqp.close();
    const cancel = this.#options.clock.after(closeWithinMs, () => this.#end(new Error('the connection was closed')));
    await this.lost;
    cancel();
  }

  async #putToken(audience: string, signal: AbortSignal): Promise<void> {
    const { namespace, clock } = this.#options;
    const body = accessToken(namespace, audience, clock.now());
    const properties = { operation: 'put-token', type: 'servicebus.windows.net:sastoken', name: audience };
    if (!this.#tokens) throw new Error('the connection is not open');
    await this.#tokens.request({ body, application_properties: properties }, signal);
  }

  #scheduleRenewal(): void {
    if (this.#isLost) return;
    this.#cancelRenewal = this.#options.clock.after(tokenRenewalMs, () => {
      const signal = AbortSignal.timeout(idleTimeoutMs);
      // The service ends the links of an expired token, so a failure shows there.
      for (const audience of this.#audiences) this.#putToken(audience, signal).catch(() => undefined);
      this.#scheduleRenewal();
    });
  }

  #dialled(): { readonly host: string; readonly port: number } {
    const { host, port } = this.#options.namespace;
    return this.#options.customEndpoint ?? { host, port };
  }

  #dial(port: number, host: string, onConnected: () => void): Socket {
    const { isEncrypted, host: servername } = this.#options.namespace;
    const socket = isEncrypted
      ? connectTls({ port, host, servername }, onConnected)
      : connectTcp({ port, host }, onConnected);
    this.#socket = socket;
    // The client library does not listen to this event, so a socket that was destroyed would go unnoticed.
    socket.once('close', () => this.#end(new Error(`the connection to ${host}:${port} was closed`)));
    return socket;
  }

  #end(reason: unknown): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#cancelRenewal();
    this.#tokens?.fail(reason);
    this.#management?.fail(reason);
    this.#lose(reason);
    // With an error, because the library stops its heartbeats on `error` and `end` only.
    setImmediate(() => this.#socket?.destroy(toError(reason)));
  }
}

function errorOf(event: string, context: unknown, connection: Connection): unknown {
  if (event === 'protocol_error' || event === 'error') return context;
  const { error } = Object(context) as { readonly error?: unknown }; // an event context of rhea
  const reason = error ?? connection.error;
  if (reason === undefined)
    return new Error(event === 'disconnected' ? 'the connection was lost' : 'the service closed the connection');
  return reason instanceof Error && !('condition' in reason) ? reason : toConditionError(reason);
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
