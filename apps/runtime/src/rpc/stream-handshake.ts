import { GrpcStatus, type EventStream, type StreamEnd, type StreamingMessage } from '@drover/function-rpc';
import type { Clock } from '@drover/service-kit';
import type { Admission, WorkerTraits } from './admission.js';

/** A stream whose worker has been admitted. */
export interface AdmittedStream {
  readonly workerId: string;
  /** Undefined for a placeholder. */
  readonly applicationKey: string | undefined;
  readonly traits: WorkerTraits;
  /** When its process was about to be started; undefined if it was started elsewhere. */
  readonly announcedMs: number | undefined;
  readonly stream: EventStream;
}

/** Receives the events of a stream after its handshake. */
export interface StreamOwner {
  receive(message: StreamingMessage): void;
  ended(end: StreamEnd): void;
  /** The send buffer of the stream has been flushed. */
  flushed(): void;
}

interface StreamHandshakeOptions {
  readonly admission: Admission;
  readonly clock: Clock;
  /** Time limit for the first message of a stream. */
  readonly startStreamMs: number;
  /** Message size limit after the handshake; before it, the smaller default of the stream applies. */
  readonly maxMessageBytes: number;
  readonly isConnected: (workerId: string) => boolean;
  readonly onAdmitted: (admitted: AdmittedStream) => StreamOwner;
  readonly onRefused: (address: string, reason: string) => void;
}

/**
 * Handles the handshake of every new stream: its first message, and only its first, must be a StartStream that identifies
 * an admitted worker. All later messages go to the owner of the stream.
 */
export class StreamHandshake {
  readonly #options: StreamHandshakeOptions;

  constructor(options: StreamHandshakeOptions) {
    this.#options = options;
  }

  accept(stream: EventStream): void {
    let owner: StreamOwner | undefined;
    const cancelTimeout = this.#options.clock.after(this.#options.startStreamMs, () =>
      this.#refuse(stream, GrpcStatus.DEADLINE_EXCEEDED, 'no StartStream message arrived in time'),
    );
    stream.start({
      onMessage: (message) => {
        if (!owner) {
          cancelTimeout();
          owner = this.#admit(stream, message);
        } else if (message.kind === 'startStream')
          this.#refuse(stream, GrpcStatus.INVALID_ARGUMENT, 'StartStream was sent twice');
        else owner.receive(message);
      },
      onEnd(end) {
        cancelTimeout();
        owner?.ended(end);
      },
      onDrain: () => owner?.flushed(),
    });
  }

  #admit(stream: EventStream, message: StreamingMessage): StreamOwner | undefined {
    const { admission, isConnected, onAdmitted, maxMessageBytes } = this.#options;
    if (message.kind !== 'startStream') {
      this.#refuse(stream, GrpcStatus.INVALID_ARGUMENT, 'the first message is not StartStream');
      return undefined;
    }
    const { workerId } = message.value;
    if (isConnected(workerId)) {
      this.#refuse(stream, GrpcStatus.ALREADY_EXISTS, `worker ${workerId.slice(0, 100)} is already connected`);
      return undefined;
    }
    const decision = admission.decide(stream.peer, workerId, message.requestId);
    if (decision.kind === 'refused') {
      this.#refuse(stream, GrpcStatus.PERMISSION_DENIED, decision.reason);
      return undefined;
    }
    stream.maxMessageBytes = maxMessageBytes;
    const { applicationKey, traits, announcedMs } = decision;
    return onAdmitted({ workerId, applicationKey, traits, announcedMs, stream });
  }

  #refuse(stream: EventStream, status: GrpcStatus, reason: string): void {
    if (stream.ended) return;
    this.#options.onRefused(stream.peer.address, reason);
    stream.destroy(status, reason);
  }
}
