import type {
  AmqpError,
  AttachReply,
  AmqpClient,
  ConsumerHandlers,
  ConsumerLink,
  OutgoingMessage,
} from './amqp-service.js';
import { internalError, LinkEnd } from './link-end.js';
import type { OutgoingSession } from './outgoing-session.js';
import type { OutputBuffer } from './output-buffer.js';
import type { FlowFields, RheaLink } from './rhea-endpoints.js';
import { describedLike, plainValue } from './values.js';

/** Output waiting for a slow client; above it a link takes no more deliveries until the socket has drained. */
const maxPendingOutputBytes = 4 * 1024 * 1024;

/** The server's end of a link on which a client receives. */
export class ConsumerLinkEnd extends LinkEnd implements ConsumerLink {
  readonly filters: ReadonlyMap<string, unknown>;
  readonly presettled: boolean;
  readonly #mayPresettle: boolean;
  #handlers: ConsumerHandlers | undefined;
  #attached = false;
  #draining = false;
  readonly #session: OutgoingSession;
  readonly #out: OutputBuffer;

  constructor(link: RheaLink, connection: AmqpClient, session: OutgoingSession, out: OutputBuffer) {
    super(link, connection, link.remote.attach.source);
    this.#session = session;
    this.#out = out;
    this.presettled = link.remote.attach.snd_settle_mode === 1;
    this.#mayPresettle = link.remote.attach.snd_settle_mode !== 0;
    this.filters = new Map(
      Object.entries(link.remote.attach.source?.filter ?? {}).map(([key, value]) => [key, plainValue(value)]),
    );
    // rhea's answer to a drain has no drain flag once the credit is used up; SDKs then close the link.
    link._get_drain = () => this.#draining;
  }

  /** Address of the client's end; replies of a request node are addressed to it. */
  get targetAddress(): string | undefined {
    return this.link.remote.attach.target?.address ?? undefined;
  }

  get capacity(): number {
    if (!this.#attached || !this.isOpen || this.link.credit <= 0) return 0;
    if (this.#out.pendingBytes > maxPendingOutputBytes) return 0;
    return Math.max(0, Math.min(this.link.credit, this.#session.window));
  }

  accept(handlers: ConsumerHandlers, reply: AttachReply = {}): void {
    if (!this.leaveAttaching()) return;
    this.#handlers = handlers;
    const { attach } = this.link.local;
    attach.snd_settle_mode = this.link.remote.attach.snd_settle_mode ?? undefined;
    attach.rcv_settle_mode = this.link.remote.attach.rcv_settle_mode ?? undefined;
    attach.target = this.link.remote.attach.target?.described();
    const { source } = this.link.remote.attach;
    if (reply.filters) this.link.set_source({ address: source?.address, filter: this.#describedAlike(reply.filters) });
    else attach.source = source?.described();
    this.sendAttach(reply);
    // rhea writes the attach in a tick that is already queued: deliveries start right behind it.
    process.nextTick(() => {
      this.#attached = true;
      this.offerCredit();
    });
  }

  /** Gives filters the descriptors of the client's own: some SDKs read only described filters, others only plain ones. */
  #describedAlike(filters: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const asked = this.link.remote.attach.source?.filter ?? {};
    return Object.fromEntries(Object.entries(filters).map(([key, value]) => [key, describedLike(asked[key], value)]));
  }

  override refuse(error: AmqpError): void {
    this.link.local.attach.target = this.link.remote.attach.target?.described();
    super.refuse(error);
  }

  deliver(message: OutgoingMessage): void {
    if (this.capacity <= 0) {
      throw new Error(`link ${this.name} has no capacity for a delivery; check capacity before each deliver call`);
    }
    this.link.credit -= 1;
    this.link.delivery_count = (this.link.delivery_count + 1) >>> 0;
    this.#session.send(this.link, message, this.presettled || (message.settled === true && this.#mayPresettle));
  }

  onFlow(flow: FlowFields): void {
    const granted = (flow.delivery_count ?? 0) + (flow.link_credit ?? 0) - this.link.delivery_count;
    this.link.credit = Math.max(0, granted | 0);
    this.offerCredit();
    if (flow.drain === true) this.#answerDrain();
    else if (flow.echo === true && this.#attached && this.isOpen) this.link.session._write_flow(this.link);
  }

  /** Offers the link's credit to the service, after anything that may have made room. A service that fails loses the link only. */
  offerCredit(): void {
    if (this.capacity <= 0) return;
    try {
      this.#handlers?.onCredit();
    } catch (error) {
      this.close(internalError(error));
    }
  }

  protected override onGone(): void {
    this.#session.forget(this.link);
    this.#handlers?.onClose?.();
    this.#handlers = undefined;
  }

  #answerDrain(): void {
    if (!this.#attached || !this.isOpen) return;
    this.link.delivery_count = (this.link.delivery_count + this.link.credit) >>> 0;
    this.link.credit = 0;
    this.#draining = true;
    this.link.session._write_flow(this.link);
    this.#draining = false;
  }
}
