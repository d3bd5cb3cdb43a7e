import type {
  AttachedRuntime,
  ControllerMessage,
  RuntimeAttach,
  RuntimeMessage,
  RuntimeOwner,
} from '@drover/scale-link';
import type { Observe } from '@drover/service-kit';
import type { LinkServerObservation } from './observations.js';

/** What a leader hears of runtimes. */
export interface RuntimeListener {
  attached(attach: RuntimeAttach): void;
  received(runtimeId: string, message: Exclude<RuntimeMessage, RuntimeAttach>): void;
  detached(runtimeId: string, incarnation: string): void;
}

/** The runtimes that are attached to this process, and the leader that listens to them. Without a leader none may attach. */
export class RuntimeLinks {
  readonly #observe: Observe<LinkServerObservation>;
  readonly #attached = new Map<string, AttachedRuntime>();
  #listener: RuntimeListener | undefined;

  constructor(observe: Observe<LinkServerObservation>) {
    this.#observe = observe;
  }

  /** Why no runtime may attach; runtimes then try the next scale controller. */
  refusal(): string | undefined {
    return this.#listener ? undefined : 'this scale controller does not lead';
  }

  /** Tells `listener` of all runtimes that attach from now on; undefined: there is no leader here, and all are detached. */
  listen(listener: RuntimeListener | undefined): void {
    this.#listener = undefined;
    // Whatever they said to the leader before, the next one needs it: a runtime tells everything when it attaches.
    for (const runtime of this.#attached.values()) runtime.detach('another scale controller may lead');
    this.#attached.clear();
    this.#listener = listener;
  }

  /** For `onAttached` of the server. */
  accept(runtime: AttachedRuntime): RuntimeOwner {
    const { runtimeId, incarnation, workers, applications } = runtime.attach;
    const listener = this.#listener;
    this.#attached.set(runtimeId, runtime);
    const counts = { workers: workers.length, applications: Object.keys(applications).length };
    this.#observe({ kind: 'link.runtime-attached', runtimeId, address: runtime.address, ...counts });
    listener?.attached(runtime.attach);
    return {
      received: (message) => {
        if (this.#listener === listener) listener?.received(runtimeId, message);
      },
      detached: (reason) => {
        this.#observe({ kind: 'link.runtime-detached', runtimeId, reason });
        if (this.#attached.get(runtimeId) === runtime) this.#attached.delete(runtimeId);
        if (this.#listener === listener) listener?.detached(runtimeId, incarnation);
      },
    };
  }

  /** A command to a runtime that is away is lost: when it attaches again, placement sends what is missing. */
  send(runtimeId: string, command: ControllerMessage): void {
    this.#attached.get(runtimeId)?.send(command);
  }
}
