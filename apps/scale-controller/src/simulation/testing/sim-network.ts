import type { ControllerMessage, RuntimeMessage } from '@drover/scale-link';
import type { SimClock } from './sim-clock.js';
import type { SimController } from './sim-controller.js';
import type { SimRuntime } from './sim-runtime.js';

interface Stream {
  readonly runtime: SimRuntime;
  readonly controller: SimController;
  readonly incarnation: string;
  isOpen: boolean;
  /** The runtime still reads from it. */
  isRead: boolean;
  /** Messages of one direction keep their order. */
  toRuntimeMs: number;
  toControllerMs: number;
}

/** The scale links: one stream per runtime, in order, broken now and then; then what is on its way is lost. */
export class SimNetwork {
  readonly #clock: SimClock;
  readonly #controllers: readonly SimController[];
  /** By runtime, as the controller sees them. */
  readonly #attached = new Map<string, Stream>();
  readonly #streams = new Set<Stream>();

  constructor(clock: SimClock, controllers: readonly SimController[]) {
    this.#clock = clock;
    this.#controllers = controllers;
  }

  /** Keeps a runtime attached to whichever controller leads. */
  keepAttached(runtime: SimRuntime): void {
    this.#clock.after(this.#clock.between(20, 500), () => this.#attach(runtime));
  }

  send(controllerId: string, runtimeId: string, command: ControllerMessage): void {
    const stream = this.#attached.get(runtimeId);
    if (!stream?.isOpen || stream.controller.id !== controllerId) return;
    stream.toRuntimeMs = Math.max(stream.toRuntimeMs, this.#clock.nowMs + this.#clock.latency());
    // What was written to a socket may arrive although its writer is dead.
    const survives = this.#clock.chance(0.5);
    const { runtime, incarnation } = stream;
    this.#clock.after(stream.toRuntimeMs - this.#clock.nowMs, () => {
      const isDelivered = stream.isOpen || (survives && stream.isRead);
      if (isDelivered && runtime.isUp && runtime.incarnation === incarnation) runtime.received(command);
    });
  }

  /** The controller ends all its streams, or its process has ended. */
  detachAll(controllerId: string): void {
    for (const stream of this.#streams) if (stream.controller.id === controllerId) this.break(stream);
  }

  breakOf(runtime: SimRuntime): void {
    for (const stream of this.#streams) if (stream.runtime === runtime) this.break(stream);
  }

  break(stream: Stream): void {
    if (!stream.isOpen) return;
    stream.isOpen = false;
    this.#streams.delete(stream);
    const { runtime, controller, incarnation } = stream;
    this.#clock.log(`the link of ${runtime.runtimeId} to ${controller.id} breaks`);
    this.#clock.after(this.#clock.between(0, 2_000), () => {
      stream.isRead = false;
      if (runtime.incarnation === incarnation) runtime.stream = undefined;
    });
    this.#clock.after(this.#clock.between(0, 10_000), () => {
      if (this.#attached.get(runtime.runtimeId) !== stream) return;
      this.#attached.delete(runtime.runtimeId);
      controller.detached(runtime.runtimeId, incarnation);
    });
  }

  #attach(runtime: SimRuntime): void {
    const leader = this.#clock.pick(this.#controllers);
    if (runtime.isUp && !runtime.stream && leader?.accepts) this.#open(runtime, leader);
    this.keepAttached(runtime);
  }

  #open(runtime: SimRuntime, controller: SimController): void {
    const { runtimeId, incarnation } = runtime;
    const stream: Stream = {
      runtime,
      controller,
      incarnation,
      isOpen: true,
      isRead: true,
      toRuntimeMs: 0,
      toControllerMs: 0,
    };
    const before = this.#attached.get(runtimeId);
    if (before) {
      before.isOpen = false;
      this.#streams.delete(before);
      before.controller.detached(runtimeId, before.incarnation);
    }
    this.#streams.add(stream);
    this.#attached.set(runtimeId, stream);
    runtime.stream = { send: (message) => this.#toController(stream, message) };
    const attach = runtime.attach();
    this.#deliver(stream, () => controller.attached(attach));
    runtime.attached();
  }

  #toController(stream: Stream, message: RuntimeMessage): void {
    if (message.kind === 'attach') return;
    this.#deliver(stream, () => stream.controller.received(stream.runtime.runtimeId, message));
  }

  #deliver(stream: Stream, action: () => void): void {
    stream.toControllerMs = Math.max(stream.toControllerMs, this.#clock.nowMs + this.#clock.latency());
    this.#clock.after(stream.toControllerMs - this.#clock.nowMs, () => {
      if (stream.isOpen && this.#attached.get(stream.runtime.runtimeId) === stream) action();
    });
  }
}
