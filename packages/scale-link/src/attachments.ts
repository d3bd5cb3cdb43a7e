import { GrpcStatus } from '@drover/function-rpc';
import type { Clock } from '@drover/service-kit';
import type { LinkStream } from './link-stream.js';
import type { ControllerMessage, RuntimeMessage } from './messages.js';

export type RuntimeAttach = Extract<RuntimeMessage, { readonly kind: 'attach' }>;

/** The controller's end of a link. */
export type ControllerLinkStream = LinkStream<RuntimeMessage, ControllerMessage>;

/** A runtime that is attached. */
export interface AttachedRuntime {
  /** Its complete state when it attached. */
  readonly attach: RuntimeAttach;
  readonly address: string;
  /** Returns false if the runtime is detached, or does not read: then it loses its stream when too much is queued. */
  send(command: ControllerMessage): boolean;
  /** Ends the stream; the runtime attaches again, here or at another controller. */
  detach(reason: string): void;
}

/** Receives what an attached runtime says. */
export interface RuntimeOwner {
  received(message: Exclude<RuntimeMessage, RuntimeAttach>): void;
  /** Called once. Its workers may go on: only a new incarnation of the runtime has lost them. */
  detached(reason: string): void;
}

interface AttachmentsOptions {
  readonly onAttached: (runtime: AttachedRuntime) => RuntimeOwner;
  readonly onRefused: (address: string, reason: string) => void;
  readonly clock: Clock;
}

/** Time limit for the first message of a stream. */
const attachWithinMs = 10_000;

/**
 * Handles the handshake of every new stream: its first message, and only its first, must be `attach`. A runtime has one
 * stream: when it attaches again, the stream before is ended and its owner is told first, whether or not its end was noticed.
 */
export class Attachments {
  readonly #options: AttachmentsOptions;
  /** By runtime id. */
  readonly #current = new Map<string, ControllerLinkStream>();
  /** Ends the attachment of a stream once. */
  readonly #ends = new Map<ControllerLinkStream, (reason: string) => void>();

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  accept(stream: ControllerLinkStream): void {
    let owner: RuntimeOwner | undefined;
    const cancelTimeout = this.#options.clock.after(attachWithinMs, () =>
      this.#refuse(stream, GrpcStatus.DEADLINE_EXCEEDED, 'no attach message arrived in time'),
    );
    stream.start({
      onMessage: (message) => {
        if (message.kind === 'attach') {
          cancelTimeout();
          if (owner) this.#refuse(stream, GrpcStatus.INVALID_ARGUMENT, 'attach was sent twice');
          else owner = this.#attach(stream, message);
        } else if (owner) owner.received(message);
        else this.#refuse(stream, GrpcStatus.INVALID_ARGUMENT, 'the first message is not attach');
      },
      onEnd: ({ reason }) => {
        cancelTimeout();
        this.#end(stream, reason);
      },
    });
  }

  /** Ends all streams. */
  detachAll(reason: string): void {
    for (const stream of this.#ends.keys()) {
      stream.destroy(GrpcStatus.UNAVAILABLE, reason);
      this.#end(stream, reason);
    }
  }

  #attach(stream: ControllerLinkStream, attach: RuntimeAttach): RuntimeOwner {
    const { runtimeId } = attach;
    const before = this.#current.get(runtimeId);
    if (before) {
      const reason = 'the runtime attached again';
      before.destroy(GrpcStatus.ABORTED, reason);
      this.#end(before, reason);
    }
    this.#current.set(runtimeId, stream);
    const owner = this.#options.onAttached({
      attach,
      address: stream.peer.address,
      send: (command) => stream.send(command),
      detach: (reason) => stream.destroy(GrpcStatus.UNAVAILABLE, reason),
    });
    this.#ends.set(stream, (reason) => {
      if (this.#current.get(runtimeId) === stream) this.#current.delete(runtimeId);
      owner.detached(reason);
    });
    return {
      // What a replaced stream still delivers is older than the attach that replaced it.
      received: (message) => (this.#ends.has(stream) ? owner.received(message) : undefined),
      detached: (reason) => owner.detached(reason),
    };
  }

  #end(stream: ControllerLinkStream, reason: string): void {
    const end = this.#ends.get(stream);
    this.#ends.delete(stream);
    end?.(reason);
  }

  #refuse(stream: ControllerLinkStream, status: GrpcStatus, reason: string): void {
    this.#options.onRefused(stream.peer.address, reason);
    stream.destroy(status, reason);
  }
}
