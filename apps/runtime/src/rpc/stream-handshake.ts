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
  /** How long a worker may wait for its announcement: a runtime that was restarted hears of its workers after they return. */
  readonly announcedWithinMs: number;
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
    let isStarted = false;
    let cancel = this.#options.clock.after(this.#options.startStreamMs, () =>
      this.#refuse(stream, GrpcStatus.DEADLINE_EXCEEDED, 'no StartStream message arrived in time'),
    );
    stream.start({
      onMessage: (message) => {
        if (owner && message.kind !== 'startStream') owner.receive(message);
        else if (isStarted) this.#refuse(stream, GrpcStatus.INVALID_ARGUMENT, 'StartStream was sent twice');
        else {
          cancel();
          isStarted = true;
          cancel = this.#begin(stream, message, (admitted) => (owner = admitted));
        }
      },
      onEnd(end) {
        cancel();
        owner?.ended(end);
      },
      onDrain: () => owner?.flushed(),
    });
  }

  /** Admits or refuses the worker, or holds its stream until it is announced. Returns the function that ends the hold. */
  #begin(stream: EventStream, message: StreamingMessage, onOwner: (owner: StreamOwner) => void): () => void {
    const { admission, isConnected, announcedWithinMs, clock } = this.#options;
    const nothing = (): void => undefined;
    if (message.kind !== 'startStream') {
      this.#refuse(stream, GrpcStatus.INVALID_ARGUMENT, 'the first message is not StartStream');
      return nothing;
    }
    const { workerId } = message.value;
    if (isConnected(workerId)) {
      this.#refuse(stream, GrpcStatus.ALREADY_EXISTS, `worker ${workerId.slice(0, 100)} is already connected`);
      return nothing;
    }
    const decision = admission.decide(stream.peer, workerId, message.requestId);
    if (decision.kind === 'admitted') {
      onOwner(this.#admit(stream, workerId, decision));
      return nothing;
    }
    if (stream.peer.kind === 'tls' || announcedWithinMs === 0 || admission.isExpected(workerId)) {
      this.#refuse(stream, GrpcStatus.PERMISSION_DENIED, decision.reason);
      return nothing;
    }
    const cancelTimeout = clock.after(announcedWithinMs, () => {
      cancelWait();
      this.#refuse(stream, GrpcStatus.PERMISSION_DENIED, decision.reason);
    });
    const cancelWait = admission.whenExpected(workerId, () => {
      end();
      this.#begin(stream, message, onOwner);
    });
    const end = (): void => {
      cancelTimeout();
      cancelWait();
    };
    return end;
  }

  #admit(stream: EventStream, workerId: string, admitted: Omit<AdmittedStream, 'workerId' | 'stream'>): StreamOwner {
    const { onAdmitted, maxMessageBytes } = this.#options;
    stream.maxMessageBytes = maxMessageBytes;
    const { applicationKey, traits, announcedMs } = admitted;
    return onAdmitted({ workerId, applicationKey, traits, announcedMs, stream });
  }

  #refuse(stream: EventStream, status: GrpcStatus, reason: string): void {
    if (stream.ended) return;
    this.#options.onRefused(stream.peer.address, reason);
    stream.destroy(status, reason);
  }
}
