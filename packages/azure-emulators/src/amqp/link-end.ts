import { type AmqpClient, amqpConditions, type AmqpError, type AttachReply } from './amqp-service.js';
import { nodePath } from './link-address.js';
import { rheaError, type RheaLink } from './rhea-endpoints.js';

/**
 * The server's end of a link, from the client's attach on.
 *
 * - attaching: the attach reply is held back until the service accepts or refuses.
 * - open: accepted; the service's handlers are called.
 * - closed: refused, detached by either side, or the connection is gone. No handler is called any more.
 */
export abstract class LinkEnd {
  readonly name: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly desiredCapabilities: readonly string[];
  onAbandoned: (() => void) | undefined;
  #phase: 'attaching' | 'open' | 'closed' = 'attaching';
  protected readonly link: RheaLink;
  readonly connection: AmqpClient;
  /** Path of the node: see `nodePath`. */
  readonly address: string;

  constructor(link: RheaLink, connection: AmqpClient, terminus: { readonly address?: string | null } | null) {
    this.link = link;
    this.connection = connection;
    this.address = nodePath(terminus?.address ?? '');
    this.name = link.name;
    const { properties, desired_capabilities } = link.remote.attach;
    this.properties = properties ?? {};
    this.desiredCapabilities = desired_capabilities ? [desired_capabilities].flat() : [];
    // rhea has queued its attach reply for the next tick: take it back until the service has decided.
    link.state.local_open = false;
    link.state.open_requests = 0;
  }

  get isOpen(): boolean {
    return this.#phase !== 'closed';
  }

  refuse(error: AmqpError): void {
    if (!this.leaveAttaching()) return;
    this.#phase = 'closed';
    this.link.attach();
    this.link.close(rheaError(error));
  }

  close(error?: AmqpError): void {
    if (this.#phase === 'attaching') {
      this.refuse(
        error ?? { condition: 'amqp:link:detach-forced', description: 'The link was closed before it opened.' },
      );
      return;
    }
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.link.close(error && rheaError(error));
    this.onGone();
  }

  /** The client detached. rhea answers by itself, but not for a link it has not attached. */
  onDetached(): void {
    if (this.#phase === 'attaching') {
      this.link.attach();
      this.link.close();
    }
    this.onLost();
  }

  /** The client or its connection is gone. */
  onLost(): void {
    const phase = this.#phase;
    this.#phase = 'closed';
    if (phase === 'attaching') this.onAbandoned?.();
    if (phase === 'open') this.onGone();
  }

  /** Returns false when the client has given up meanwhile. */
  protected leaveAttaching(): boolean {
    if (this.#phase === 'open') throw new Error(`link ${this.name} is already accepted`);
    if (this.#phase === 'closed') return false;
    this.#phase = 'open';
    return true;
  }

  protected sendAttach(reply: AttachReply): void {
    const { attach } = this.link.local;
    if (reply.properties) attach.properties = reply.properties;
    if (reply.offeredCapabilities?.length) attach.offered_capabilities = reply.offeredCapabilities;
    this.link.attach();
  }

  protected abstract onGone(): void;
}

/** What a client gets to see of a failure inside the emulator. */
export function internalError(error: unknown): AmqpError {
  const reason = error instanceof Error ? error.message : String(error);
  return { condition: amqpConditions.internalError, description: `The emulator failed: ${reason}` };
}
