import { GrpcStatus, type EventStream, type StreamEnd, type StreamingMessage } from '@drover/function-rpc';
import type { Clock } from '@drover/service-kit';
import type { Admission } from './admission.js';

/** A worker that was let in, and what it is here for. */
export interface Arrival {
  readonly workerId: string;
  readonly applicationKey: string | undefined;
  readonly stream: EventStream;
}

/** Whoever takes over a stream after its worker is known. */
export interface Resident {
  receive(message: StreamingMessage): void;
  leave(end: StreamEnd): void;
  drained(): void;
}

export interface WorkerEntranceOptions {
  readonly admission: Admission;
  readonly clock: Clock;
  /** How long a stream may stay without saying who it is. */
  readonly startStreamMs: number;
  /** Of a worker that is known. */
  readonly maxMessageBytes: number;
  readonly isTaken: (workerId: string) => boolean;
  readonly onArrival: (arrival: Arrival) => Resident;
  readonly onRefused: (address: string, reason: string) => void;
}

/**
 * Where streams come in. The first message of a stream says who it is, and only the first: until then it may send little and
 * not take long, and afterwards everything goes to the one who took it over.
 */
export class WorkerEntrance {
  readonly #options: WorkerEntranceOptions;

  constructor(options: WorkerEntranceOptions) {
    this.#options = options;
  }

  open(stream: EventStream): void {
    let resident: Resident | undefined;
    const tooLate = this.#options.clock.after(this.#options.startStreamMs, () =>
      this.#refuse(stream, GrpcStatus.DEADLINE_EXCEEDED, 'it did not say who it is in time'),
    );
    stream.start({
      onMessage: (message) => {
        if (!resident) {
          tooLate();
          resident = this.#admit(stream, message);
        } else if (message.kind === 'startStream')
          this.#refuse(stream, GrpcStatus.INVALID_ARGUMENT, 'it said twice who it is');
        else resident.receive(message);
      },
      onEnd(end) {
        tooLate();
        resident?.leave(end);
      },
      onDrain: () => resident?.drained(),
    });
  }

  #admit(stream: EventStream, message: StreamingMessage): Resident | undefined {
    const { admission, isTaken, onArrival, maxMessageBytes } = this.#options;
    if (message.kind !== 'startStream') {
      this.#refuse(stream, GrpcStatus.INVALID_ARGUMENT, 'its first message does not say who it is');
      return undefined;
    }
    const { workerId } = message.value;
    if (isTaken(workerId)) {
      this.#refuse(stream, GrpcStatus.ALREADY_EXISTS, `there is a worker ${workerId.slice(0, 100)} already`);
      return undefined;
    }
    const verdict = admission.judge(stream.peer, workerId, message.requestId);
    if (verdict.kind === 'refused') {
      this.#refuse(stream, GrpcStatus.PERMISSION_DENIED, verdict.reason);
      return undefined;
    }
    stream.maxMessageBytes = maxMessageBytes;
    return onArrival({ workerId, applicationKey: verdict.applicationKey, stream });
  }

  #refuse(stream: EventStream, status: GrpcStatus, reason: string): void {
    if (stream.ended) return;
    this.#options.onRefused(stream.peer.address, reason);
    stream.destroy(status, reason);
  }
}
