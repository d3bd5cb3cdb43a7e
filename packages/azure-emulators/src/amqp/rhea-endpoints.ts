import type { Duplex } from 'node:stream';
import rhea, { type Typed } from 'rhea';
import type { AmqpError } from './amqp-service.js';
import type { RheaPerformative } from './whole-frames.js';

/**
 * What the server uses of rhea's endpoints beyond its typings. rhea decodes frames and keeps the open/close state machine of
 * connections, sessions and links; transfers, credit and settlement are ours, see `outgoing-session.ts` and
 * `incoming-session.ts`. Only instances are patched: an SDK in the same process shares rhea's module objects.
 */
export interface RheaConnection {
  readonly remote: { open?: { max_frame_size?: number; properties?: Record<string, unknown> } };
  readonly remote_channel_map: Record<number, RheaSession | undefined>;
  readonly amqp_transport: { readonly header_sent: unknown };
  /** Size of the frame that is being collected over several chunks. */
  readonly frame_size: number | undefined;
  accept(socket: Duplex): void;
  close(error?: RheaError): void;
  is_open(): boolean;
  is_closed(): boolean;
  _register(): void;
  _process(): void;
  /** Without a performative: an empty frame, the heartbeat. */
  _write_frame(channel?: number, performative?: RheaPerformative, payload?: Buffer): void;
  _disconnected(error?: unknown): void;
  on_transfer(frame: RheaFrame<TransferFields>): void;
  on_flow(frame: RheaFrame<FlowFields>): void;
  on_disposition(frame: RheaFrame<DispositionFields>): void;
  on_detach(frame: RheaFrame<{ readonly handle: number }>): void;
  on_end(frame: RheaFrame<unknown>): void;
  on_attach(frame: RheaFrame<AttachFields>): void;
}

export interface RheaSession {
  readonly local: { readonly channel: number };
  readonly remote: { readonly handles: Record<number, RheaLink | undefined> };
  /** rhea finds a link by its name here; its output is written for every entry. */
  readonly links: Record<string, RheaLink | undefined>;
  readonly outgoing: {
    next_transfer_id: number;
    readonly remote_next_transfer_id: number | null | undefined;
    readonly remote_window: number | undefined;
    on_flow(fields: FlowFields): void;
  };
  readonly incoming: {
    next_transfer_id: number;
    readonly max_transfer_id: number;
    readonly window: number;
    on_flow(fields: FlowFields): void;
  };
  _write_flow(link?: RheaLink): void;
}

interface RheaTerminus {
  readonly address?: string | null;
  readonly filter?: Record<string, unknown> | null;
  described(): Typed;
}

export interface RheaLink {
  readonly name: string;
  readonly session: RheaSession;
  readonly connection: RheaConnection;
  readonly state: { local_open: boolean; open_requests: number };
  readonly local: {
    readonly handle: number;
    readonly attach: {
      source: Typed | undefined;
      target: Typed | undefined;
      properties: Readonly<Record<string, unknown>> | undefined;
      offered_capabilities: readonly string[] | undefined;
      max_message_size: number | undefined;
      snd_settle_mode: number | undefined;
      rcv_settle_mode: number | undefined;
    };
  };
  readonly remote: {
    readonly attach: {
      readonly source: RheaTerminus | null;
      readonly target: RheaTerminus | null;
      readonly properties?: Record<string, unknown> | null;
      readonly desired_capabilities?: string | string[] | null;
      readonly snd_settle_mode?: number | null;
      readonly rcv_settle_mode?: number | null;
    };
  };
  credit: number;
  delivery_count: number;
  _get_drain(): boolean;
  add_credit(credit: number): void;
  set_source(fields: object): void;
  is_receiver(): boolean;
  /** Forgets a closed link. */
  remove(): void;
  attach(): void;
  close(error?: RheaError): void;
}

export interface RheaError {
  condition: string;
  description: string;
  info: object | undefined;
}

/** All three fields: the SDK for Python reads the third one of every error, and fails on a shorter list. */
export function rheaError({ condition, description, info }: AmqpError): RheaError {
  return { condition, description, info };
}

export interface RheaFrame<Performative> {
  readonly channel: number;
  /** `value`: its fields in order, as rhea decoded them. */
  readonly performative: Performative & { readonly value: unknown };
  readonly payload?: Buffer;
}

export interface AttachFields {
  readonly name: string;
  /** True when the peer receives. */
  readonly role: boolean;
}

export interface TransferFields {
  readonly handle: number;
  readonly delivery_id?: number | null;
  readonly message_format?: number | null;
  readonly settled?: boolean | null;
  readonly more?: boolean | null;
  readonly aborted?: boolean | null;
}

export interface FlowFields {
  readonly handle?: number | null;
  readonly delivery_count?: number | null;
  readonly link_credit?: number | null;
  readonly drain?: boolean | null;
  readonly echo?: boolean | null;
}

export interface DispositionFields {
  /** True when the peer is the receiver of the deliveries. */
  readonly role: boolean;
  readonly first: number;
  readonly last?: number | null;
  readonly settled?: boolean | null;
  readonly state?: Typed | null;
}

export interface RheaContext {
  readonly connection: RheaConnection;
  readonly sender?: RheaLink;
  readonly receiver?: RheaLink;
}

export interface RheaContainer {
  create_connection(options: object): RheaConnection;
  on(event: string, listener: (context: RheaContext) => void): void;
}

const linkOptions = {
  receiver_options: { autoaccept: false, autosettle: false, credit_window: 0 },
  sender_options: { autosettle: false, treat_modified_as_released: false },
};

/** Makes a container that accepts every usual SASL mechanism: tokens are checked at `$cbs`, not here. */
export function createRheaContainer(id: string): RheaContainer {
  const container = rhea.create_container({ id });
  const mechanisms = container.sasl_server_mechanisms as unknown as Record<string, unknown> & {
    enable_anonymous(): void;
    enable_plain(check: () => boolean): void;
  };
  mechanisms.enable_anonymous();
  mechanisms.enable_plain(() => true);
  const { ANONYMOUS: acceptAll } = mechanisms;
  Object.assign(mechanisms, { EXTERNAL: acceptAll, MSSBCBS: acceptAll });
  return container as unknown as RheaContainer;
}

export const rheaConnectionOptions = { ...linkOptions, session_buffer_size: 8192, tcp_no_delay: true };
