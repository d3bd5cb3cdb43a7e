import type { Duplex } from 'node:stream';
import { amqpConditions, type AmqpError, type AmqpClient } from './amqp-service.js';
import { ConsumerLinkEnd } from './consumer-link-end.js';
import { readBooleans } from './booleans.js';
import { DispositionBatch } from './disposition-batch.js';
import { OutgoingSession } from './outgoing-session.js';
import { attachLink } from './link-names.js';
import { OutputBuffer } from './output-buffer.js';
import { ProducerLinkEnd, type ProducerLimits } from './producer-link-end.js';
import { completeFrame } from './whole-frames.js';
import {
  type AttachFields,
  type DispositionFields,
  type FlowFields,
  type RheaConnection,
  type RheaContainer,
  type RheaFrame,
  type RheaLink,
  type RheaSession,
  rheaConnectionOptions,
  rheaError,
  type TransferFields,
} from './rhea-endpoints.js';

/** What carries a connection: TCP, TLS or a WebSocket. */
export interface AmqpSocket extends Duplex {
  setKeepAlive(isOn: boolean, initialDelayMs: number): unknown;
  setNoDelay(isOn: boolean): unknown;
}

export interface AmqpConnectionHandlers {
  onProducer(link: ProducerLinkEnd, connection: AmqpConnection): void;
  onConsumer(link: ConsumerLinkEnd, connection: AmqpConnection): void;
  /** Called once, when the socket is gone. */
  onClosed(connection: AmqpConnection): void;
}

interface SessionEnd {
  readonly outgoing: OutgoingSession;
  readonly dispositions: DispositionBatch;
}

/** Frames we accept: a whole message in one frame, and room for its performative. */
const maxIncomingFrameBytes = (maxMessageBytes: number): number => maxMessageBytes + 64 * 1024;

/**
 * One client connection: rhea's connection with our transfer, flow and disposition handling in place of its own.
 * Frames for a channel or handle that is unknown are dropped, since clients send flows and dispositions on sessions they have
 * just ended; rhea would close the whole connection.
 */
export class AmqpConnection implements AmqpClient {
  readonly id: number;
  /** Expiry times (Unix ms) of the valid tokens put at `$cbs`, by audience. */
  readonly tokens = new Map<string, number>();
  readonly #rhea: RheaConnection;
  readonly #out: OutputBuffer;
  readonly #sessions = new Map<RheaSession, SessionEnd>();
  readonly #producers = new Map<RheaLink, ProducerLinkEnd>();
  readonly #consumers = new Map<RheaLink, ConsumerLinkEnd>();
  #closed = false;
  readonly #socket: AmqpSocket;
  readonly #limits: ProducerLimits;
  readonly #handlers: AmqpConnectionHandlers;

  constructor(
    id: number,
    container: RheaContainer,
    socket: AmqpSocket,
    limits: ProducerLimits,
    handlers: AmqpConnectionHandlers,
  ) {
    this.id = id;
    this.#socket = socket;
    this.#limits = limits;
    this.#handlers = handlers;
    const maxFrameBytes = maxIncomingFrameBytes(limits.maxMessageBytes);
    this.#rhea = container.create_connection({ ...rheaConnectionOptions, max_frame_size: maxFrameBytes });
    this.#out = new OutputBuffer(socket, () => this.#rhea.is_open());
    this.#patch();
    this.#rhea.accept(socket);
    socket.setKeepAlive(true, 30_000);
    socket.on('data', (chunk: Buffer) => {
      this.#out.noteInput(chunk.length);
      // rhea would collect a frame of any announced size.
      if ((this.#rhea.frame_size ?? 0) > maxFrameBytes) socket.destroy();
    });
    socket.on('drain', () => this.#offerCredit(this.#consumers.values()));
    // rhea listens to `end` and `error` only: a socket destroyed on this side would keep its consumers registered.
    socket.on('close', () => this.#onSocketClosed());
  }

  get userAgent(): string | undefined {
    const agent = this.#rhea.remote.open?.properties?.['user-agent'];
    return typeof agent === 'string' ? agent : undefined;
  }

  /** rhea's object, for finding the connection of an event. */
  get rheaConnection(): RheaConnection {
    return this.#rhea;
  }

  get openConsumers(): Iterable<ConsumerLinkEnd> {
    return this.#consumers.values();
  }

  onSenderOpen(link: RheaLink): void {
    const end = new ConsumerLinkEnd(link, this, this.#sessionEnd(link.session).outgoing, this.#out);
    this.#consumers.set(link, end);
    this.#handlers.onConsumer(end, this);
  }

  onReceiverOpen(link: RheaLink): void {
    const end = new ProducerLinkEnd(link, this, this.#sessionEnd(link.session).dispositions, this.#limits);
    this.#producers.set(link, end);
    this.#handlers.onProducer(end, this);
  }

  onLinkClosed(link: RheaLink): void {
    (this.#consumers.get(link) ?? this.#producers.get(link))?.onDetached();
    this.#consumers.delete(link);
    this.#producers.delete(link);
  }

  /** Tells the client why and ends the connection; `deadlineMs` bounds the wait for its answer. */
  async close(error: AmqpError, deadlineMs: number): Promise<void> {
    if (this.#closed) return;
    const gone = new Promise<void>((resolve) => this.#socket.once('close', () => resolve()));
    this.#rhea.close(rheaError(error));
    const timer = setTimeout(() => this.#socket.destroy(), deadlineMs);
    await gone;
    clearTimeout(timer);
  }

  /** Cuts the connection without a word, as a crash does. */
  destroy(): void {
    this.#socket.destroy();
  }

  #patch(): void {
    const rhea = this.#rhea;
    const processNow = rhea._process.bind(rhea);
    // rhea calls it from the tick queue, where an exception would end the process: what a client sent can be impossible to repeat.
    rhea._process = () => {
      try {
        processNow();
      } catch {
        this.#socket.destroy();
      }
    };
    const writeFrame = rhea._write_frame.bind(rhea);
    rhea._write_frame = (channel, performative, payload) => {
      if (performative) completeFrame(performative);
      writeFrame(channel, performative, payload);
    };
    const on = { attach: rhea.on_attach.bind(rhea), detach: rhea.on_detach.bind(rhea), end: rhea.on_end.bind(rhea) };
    // Every frame is looked up before its fields are read.
    const known = (frame: RheaFrame<unknown>): RheaSession | undefined => {
      readBooleans(frame.performative.value);
      return rhea.remote_channel_map[frame.channel];
    };
    rhea.on_transfer = (frame) => this.#onTransfer(known(frame), frame);
    rhea.on_flow = (frame) => this.#onFlow(known(frame), frame.performative);
    rhea.on_disposition = (frame) => this.#onDisposition(known(frame), frame.performative);
    rhea.on_detach = (frame) => {
      if (known(frame)?.remote.handles[frame.performative.handle]) on.detach(frame);
    };
    rhea.on_end = (frame) => {
      const session = known(frame);
      if (!session) return;
      this.#loseLinksOf(session);
      on.end(frame);
    };
    rhea.on_attach = (frame) => {
      const session = known(frame);
      if (!session) return;
      this.#stealLink(session, frame.performative);
      attachLink(session, frame, on.attach);
    };
  }

  /** A link that is attached again while it is open is taken over, as the specification wants: one link per name and direction. */
  #stealLink(session: RheaSession, { name, role }: AttachFields): void {
    const ends = role ? this.#consumers : this.#producers;
    for (const [link, end] of ends) {
      if (link.session !== session || link.name !== name) continue;
      ends.delete(link);
      end.close({ condition: amqpConditions.linkStolen, description: `The link '${name}' was attached again.` });
    }
  }

  #onTransfer(session: RheaSession | undefined, frame: RheaFrame<TransferFields>): void {
    if (!session) return;
    const { incoming } = session;
    incoming.next_transfer_id += 1;
    const link = session.remote.handles[frame.performative.handle];
    if (link) this.#producers.get(link)?.onTransfer(frame.performative, frame.payload);
    if (incoming.max_transfer_id - incoming.next_transfer_id < incoming.window / 2) this.#rhea._register();
  }

  #onFlow(session: RheaSession | undefined, flow: FlowFields): void {
    if (!session) return;
    session.outgoing.on_flow(flow);
    session.incoming.on_flow(flow);
    const end = this.#sessions.get(session);
    end?.outgoing.pump();
    const link = typeof flow.handle === 'number' ? session.remote.handles[flow.handle] : undefined;
    if (link) {
      this.#consumers.get(link)?.onFlow(flow);
      return;
    }
    // A flow of the session alone: its window may have opened for every link.
    const consumers = [...this.#consumers].filter(([candidate]) => candidate.session === session);
    this.#offerCredit(consumers.map(([, consumer]) => consumer));
  }

  #onDisposition(session: RheaSession | undefined, disposition: DispositionFields): void {
    if (session && disposition.role) this.#sessions.get(session)?.outgoing.onDisposition(disposition);
  }

  #offerCredit(consumers: Iterable<ConsumerLinkEnd>): void {
    for (const consumer of consumers) consumer.offerCredit();
  }

  #sessionEnd(session: RheaSession): SessionEnd {
    const existing = this.#sessions.get(session);
    if (existing) return existing;
    const end: SessionEnd = {
      outgoing: new OutgoingSession(session, this.#out, this.#rhea.remote.open?.max_frame_size ?? 0xffff_ffff),
      dispositions: new DispositionBatch(this.#out, session.local.channel, true),
    };
    this.#sessions.set(session, end);
    return end;
  }

  #loseLinksOf(session: RheaSession): void {
    for (const links of [this.#producers, this.#consumers]) {
      for (const [link, end] of links) {
        if (link.session !== session) continue;
        links.delete(link);
        end.onLost();
      }
    }
    this.#sessions.delete(session);
  }

  #onSocketClosed(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#rhea._disconnected();
    for (const session of this.#sessions.keys()) this.#loseLinksOf(session);
    this.#handlers.onClosed(this);
  }
}
