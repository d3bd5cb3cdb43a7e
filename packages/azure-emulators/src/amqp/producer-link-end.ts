import type {
  AmqpError,
  AttachReply,
  AmqpClient,
  IncomingDelivery,
  ProducerHandlers,
  ProducerLink,
} from './amqp-service.js';
import { amqpConditions } from './amqp-service.js';
import type { DispositionBatch } from './disposition-batch.js';
import { encodeOutcome } from './frames.js';
import { LinkEnd } from './link-end.js';
import type { RheaLink, TransferFields } from './rhea-endpoints.js';

export interface ProducerLimits {
  readonly maxMessageBytes: number;
  /** Unsettled transfers a producer may have in flight. */
  readonly producerCredit: number;
}

interface PartialDelivery {
  readonly id: number;
  readonly format: number;
  readonly presettled: boolean;
  readonly chunks: Buffer[];
  bytes: number;
}

/** The server's end of a link on which a client sends. */
export class ProducerLinkEnd extends LinkEnd implements ProducerLink {
  #handlers: ProducerHandlers | undefined;
  #partial: PartialDelivery | undefined;
  #unsettled = 0;
  #maxMessageBytes: number;
  readonly #dispositions: DispositionBatch;
  readonly #limits: ProducerLimits;

  constructor(link: RheaLink, connection: AmqpClient, dispositions: DispositionBatch, limits: ProducerLimits) {
    super(link, connection, link.remote.attach.target);
    this.#dispositions = dispositions;
    this.#limits = limits;
    this.#maxMessageBytes = limits.maxMessageBytes;
  }

  accept(handlers: ProducerHandlers, reply: AttachReply = {}): void {
    if (!this.leaveAttaching()) return;
    this.#handlers = handlers;
    this.#maxMessageBytes = reply.maxMessageBytes ?? this.#limits.maxMessageBytes;
    const { attach } = this.link.local;
    attach.snd_settle_mode = this.link.remote.attach.snd_settle_mode ?? undefined;
    attach.source = this.link.remote.attach.source?.described();
    attach.target = this.link.remote.attach.target?.described();
    attach.max_message_size = this.#maxMessageBytes;
    this.sendAttach(reply);
    this.link.add_credit(this.#limits.producerCredit);
  }

  override refuse(error: AmqpError): void {
    this.link.local.attach.source = this.link.remote.attach.source?.described();
    super.refuse(error);
  }

  onTransfer(fields: TransferFields, payload: Buffer | undefined): void {
    if (!this.isOpen) return;
    this.#partial ??= {
      id: fields.delivery_id ?? 0,
      format: fields.message_format ?? 0,
      presettled: fields.settled === true,
      chunks: [],
      bytes: 0,
    };
    if (fields.aborted === true) {
      this.#partial = undefined;
      this.#countTransfer();
      return;
    }
    if (payload) {
      this.#partial.chunks.push(payload);
      this.#partial.bytes += payload.length;
    }
    // Read to its end and rejected. A detach with the error would be the shorter way, but the SDKs then wait for their timeout.
    const isTooLarge = this.#partial.bytes > this.#maxMessageBytes;
    if (isTooLarge) this.#partial.chunks.length = 0;
    if (fields.more === true) return;
    const whole = this.#partial;
    this.#partial = undefined;
    this.#countTransfer();
    this.#unsettled += 1;
    if (isTooLarge) {
      this.settle(whole, tooLarge(whole.bytes, this.#maxMessageBytes));
      return;
    }
    this.#handlers?.onMessage(new ReceivedDelivery(whole, this));
  }

  settle(delivery: { readonly id: number; readonly presettled: boolean }, error: AmqpError | undefined): void {
    if (!this.isOpen) return;
    this.#unsettled -= 1;
    if (!delivery.presettled) {
      if (error) this.#dispositions.state(delivery.id, encodeOutcome({ kind: 'rejected', error }));
      else this.#dispositions.accepted(delivery.id);
    }
    this.#grantCredit();
  }

  protected override onGone(): void {
    this.#handlers?.onClose?.();
    this.#handlers = undefined;
  }

  #countTransfer(): void {
    this.link.credit -= 1;
    this.link.delivery_count = (this.link.delivery_count + 1) >>> 0;
  }

  #grantCredit(): void {
    const missing = this.#limits.producerCredit - this.link.credit - this.#unsettled;
    if (missing >= this.#limits.producerCredit / 4) this.link.add_credit(missing);
  }
}

class ReceivedDelivery implements IncomingDelivery {
  readonly payload: Buffer;
  #settled = false;
  readonly #delivery: PartialDelivery;
  readonly #link: ProducerLinkEnd;

  constructor(delivery: PartialDelivery, link: ProducerLinkEnd) {
    this.#delivery = delivery;
    this.#link = link;
    const [only] = delivery.chunks;
    this.payload = only && delivery.chunks.length === 1 ? only : Buffer.concat(delivery.chunks);
  }

  get format(): number {
    return this.#delivery.format;
  }

  accept(): void {
    this.#settle(undefined);
  }

  reject(error: AmqpError): void {
    this.#settle(error);
  }

  #settle(error: AmqpError | undefined): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#link.settle(this.#delivery, error);
  }
}

function tooLarge(bytes: number, limit: number): AmqpError {
  return {
    condition: amqpConditions.messageSizeExceeded,
    description: `The message has ${bytes} bytes; this link takes at most ${limit}. Send smaller messages or batches.`,
  };
}
