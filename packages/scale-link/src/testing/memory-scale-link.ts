import type { GrpcStatus } from '@drover/function-rpc';
import type { ControllerLinkStream } from '../attachments.js';
import { parseLinkMessage } from '../json-codec.js';
import type { LinkStreamEnd, LinkStream, LinkStreamHandlers } from '../link-stream.js';
import { controllerMessageShapes, runtimeMessageShapes, type MessageShapes } from '../message-shapes.js';
import type { ControllerMessage, RuntimeMessage } from '../messages.js';
import type { OpenScaleLink } from '../open-scale-link.js';

/**
 * A scale link without sockets, for tests of either end. Messages are written and read as JSON, as on the wire, and arrive in
 * order in later microtasks. `open` is for a ScaleLinkClient; `accept` receives the other end, as `Attachments.accept` does.
 */
export class MemoryScaleLink {
  readonly #accept: (stream: ControllerLinkStream) => void;
  readonly #ends = new Set<MemoryEnd<ControllerMessage, RuntimeMessage>>();
  /** Refuses new streams with this reason, as a controller that does not lead. */
  refusal: string | undefined;

  constructor(accept: (stream: ControllerLinkStream) => void) {
    this.#accept = accept;
  }

  readonly open: OpenScaleLink = async () => {
    if (this.refusal !== undefined) throw new Error(this.refusal);
    const [runtime, controller] = memoryLinkPair();
    this.#ends.add(runtime);
    this.#accept(controller);
    return runtime;
  };

  /** Breaks all streams, as the death of the controller does. */
  disconnect(reason: string): void {
    for (const end of this.#ends) end.destroy(0, reason);
    this.#ends.clear();
  }
}

/** The two ends of one stream. */
export function memoryLinkPair(): [
  MemoryEnd<ControllerMessage, RuntimeMessage>,
  MemoryEnd<RuntimeMessage, ControllerMessage>,
] {
  const runtime = new MemoryEnd<ControllerMessage, RuntimeMessage>('controller', controllerMessageShapes);
  const controller = new MemoryEnd<RuntimeMessage, ControllerMessage>('runtime', runtimeMessageShapes);
  runtime.other = controller;
  controller.other = runtime;
  return [runtime, controller];
}

class MemoryEnd<In extends { readonly kind: string }, Out extends { readonly kind: string }>
  implements LinkStream<In, Out>
{
  readonly peer: { readonly address: string };
  /** Set by tests: this end reports that it is full. Messages are delivered all the same. */
  isFull = false;
  other: MemoryEnd<Out, In> | undefined;
  readonly #shapes: MessageShapes<In>;
  readonly #pending: string[] = [];
  #handlers: LinkStreamHandlers<In> | undefined;
  #ended: LinkStreamEnd | undefined;
  #isEndReported = false;

  constructor(address: string, shapes: MessageShapes<In>) {
    this.peer = { address };
    this.#shapes = shapes;
  }

  start(handlers: LinkStreamHandlers<In>): void {
    this.#handlers = handlers;
    queueMicrotask(() => this.#deliver());
  }

  send(message: Out): boolean {
    if (this.#ended) return false;
    this.other?.receive(JSON.stringify(message));
    return !this.isFull;
  }

  end(): void {
    this.destroy(0, 'ended here');
  }

  destroy(grpcStatus: GrpcStatus, reason: string): void {
    this.finish({ reason });
    this.other?.finish({ reason, grpcStatus });
  }

  receive(text: string): void {
    if (this.#ended) return;
    this.#pending.push(text);
    queueMicrotask(() => this.#deliver());
  }

  finish(end: LinkStreamEnd): void {
    if (this.#ended) return;
    this.#ended = end;
    queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    if (!this.#handlers) return;
    for (const text of this.#pending.splice(0)) this.#handlers.onMessage(parseLinkMessage(text, this.#shapes));
    if (!this.#ended || this.#isEndReported) return;
    this.#isEndReported = true;
    this.#handlers.onEnd(this.#ended);
  }
}
