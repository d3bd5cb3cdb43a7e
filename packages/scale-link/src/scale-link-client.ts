import { GrpcStatus } from '@drover/function-rpc';
import { BackOff, type BackOffPolicy, type Clock, type Lifecycle, type Randomness } from '@drover/service-kit';
import type { RuntimeAttach } from './attachments.js';
import type { LinkStreamEnd } from './link-stream.js';
import type { ControllerMessage, RuntimeMessage } from './messages.js';
import type { OpenScaleLink, RuntimeLinkStream } from './open-scale-link.js';

export interface ScaleLinkClientOptions {
  /** Ways to the scale controllers, tried in turn: only the leader accepts. */
  readonly open: readonly OpenScaleLink[];
  /** Called when an attached stream ends, unless this end was stopped. `isPlanned`: the controller stops, or does not lead any more. */
  readonly onDetached: (reason: string, isPlanned: boolean) => void;
  /** Called when a connection fails. */
  readonly onUnreachable: (reason: string, failures: number) => void;
  readonly clock: Clock;
  readonly randomness: Randomness;
}

/** What the link reports to, and tells about. */
export interface LinkOwner {
  /** Returns the complete state, as the first message of each stream. */
  attach(): RuntimeAttach;
  /** Called after `attach` was sent: the time to send again what the controller must know beside it. */
  attached(): void;
  received(command: ControllerMessage): void;
}

/** Short, since an event may wait for a worker meanwhile. A controller that starts again needs a second or two. */
const reconnect: BackOffPolicy = { firstMs: 20, maxMs: 500, factor: 2 };
/** A stream that lasted this long was accepted: the next failure is the first one again. */
const settledMs = 2_000;

/**
 * The runtime's end of the scale link: stays attached to the leading scale controller, whichever it is.
 *
 * - detached: tries one controller after the other, with a growing delay after each round
 * - attached: `attach` was sent on an open stream; its end leads back to detached. A controller that does not lead ends the
 *   stream at once, which is no different from any other end
 *
 * Messages that are sent while detached are dropped: the state that they tell is part of the next `attach`, or the owner sends
 * them again when it is attached. A `sample` is also dropped while the stream is full, because the next one replaces it.
 */
export class ScaleLinkClient implements Lifecycle {
  readonly name = 'scale link';
  readonly #options: ScaleLinkClientOptions;
  readonly #stopping = new AbortController();
  #owner: LinkOwner | undefined;
  #stream: RuntimeLinkStream | undefined;
  #running: Promise<void> | undefined;

  constructor(options: ScaleLinkClientOptions) {
    this.#options = options;
  }

  get isAttached(): boolean {
    return this.#stream !== undefined;
  }

  /** Sets the owner. Must be called before the start. */
  serve(owner: LinkOwner): void {
    this.#owner = owner;
  }

  /** Does not wait for a controller: a runtime serves what it hosts without one. */
  async start(): Promise<void> {
    const owner = this.#owner;
    if (!owner) throw new Error('the scale link has no owner; call serve before start');
    this.#running = this.#run(owner);
  }

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#stream?.end();
    await this.#running;
  }

  /** Returns false if the message was dropped, or the stream is full. */
  send(message: RuntimeMessage): boolean {
    const stream = this.#stream;
    if (!stream || (message.kind === 'sample' && stream.isFull)) return false;
    return stream.send(message);
  }

  async #run(owner: LinkOwner): Promise<void> {
    const { open, clock, onUnreachable } = this.#options;
    const { signal } = this.#stopping;
    const backOff = new BackOff(reconnect, this.#options);
    for (let turn = 0; !signal.aborted; turn += 1) {
      try {
        const stream = await this.#open(open[turn % open.length], signal);
        const attachedMs = clock.monotonicMs();
        await this.#attach(stream, owner);
        if (clock.monotonicMs() - attachedMs >= settledMs) backOff.reset();
      } catch (error) {
        if (!signal.aborted)
          onUnreachable(error instanceof Error ? error.message : String(error), backOff.failures + 1);
      }
      // After the last controller of a round, wait before the next round.
      if (turn % open.length === open.length - 1) await backOff.wait(signal).catch(() => undefined);
    }
  }

  async #open(open: OpenScaleLink | undefined, signal: AbortSignal): Promise<RuntimeLinkStream> {
    if (!open) throw new Error('the scale link has no address of a scale controller');
    const stream = await open(signal);
    if (signal.aborted) stream.destroy(GrpcStatus.CANCELLED, 'the runtime stops');
    return stream;
  }

  /** Resolves when the stream has ended. */
  async #attach(stream: RuntimeLinkStream, owner: LinkOwner): Promise<void> {
    const ended = new Promise<LinkStreamEnd>((resolve) => {
      stream.start({ onMessage: (command) => owner.received(command), onEnd: resolve });
    });
    stream.send(owner.attach());
    this.#stream = stream;
    owner.attached();
    const { reason, grpcStatus } = await ended;
    this.#stream = undefined;
    if (!this.#stopping.signal.aborted) this.#options.onDetached(reason, grpcStatus === GrpcStatus.UNAVAILABLE);
  }
}
