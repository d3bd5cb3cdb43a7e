/** The types of one message. */
export interface MessageDef {
  readonly payload?: unknown;
  readonly result?: unknown;
  /** What the handler may report while it runs. */
  readonly progress?: unknown;
  /** Makes the message a stream: the handler yields any number of items. */
  readonly item?: unknown;
}

/** Maps each message name to its types. Interfaces and type literals both fit. */
export type MessageDefs<Defs> = { readonly [Type in keyof Defs]: MessageDef };

/** Declares messages and checks their shape: `DefineMessages<{ add: { payload: [number, number]; result: number } }>`. */
export type DefineMessages<Defs extends MessageDefs<Defs>> = Defs;

/** Names of all messages. */
export type MessageType<Defs> = keyof Defs & string;
/** Names of messages with one result. */
export type RequestType<Defs> = {
  [Type in MessageType<Defs>]: Defs[Type] extends { readonly item: unknown } ? never : Type;
}[MessageType<Defs>];
/** Names of messages with a stream of items. */
export type StreamType<Defs> = Exclude<MessageType<Defs>, RequestType<Defs>>;

/** The payload of a message; `undefined` when it declares none. */
export type PayloadOf<Defs, Type extends MessageType<Defs>> = 'payload' extends keyof Defs[Type]
  ? Defs[Type]['payload']
  : undefined;
/** The result of a message; `void` when it declares none. */
export type ResultOf<Defs, Type extends MessageType<Defs>> = Defs[Type] extends { readonly result: infer Result }
  ? Result
  : void;
/** What the handler of a message may report; `never` when it declares no progress. */
export type ProgressOf<Defs, Type extends MessageType<Defs>> = Defs[Type] extends { readonly progress: infer Progress }
  ? Progress
  : never;
/** The items of a stream; `never` when the message is not a stream. */
export type ItemOf<Defs, Type extends MessageType<Defs>> = Defs[Type] extends { readonly item: infer Item }
  ? Item
  : never;

/** The arguments after the message name. The payload is optional when the message has none. */
export type SendArguments<Defs, Type extends MessageType<Defs>, Options> =
  undefined extends PayloadOf<Defs, Type>
    ? [payload?: PayloadOf<Defs, Type>, options?: Options]
    : [payload: PayloadOf<Defs, Type>, options?: Options];

/** A value or a promise of it. */
export type MaybePromise<T> = T | Promise<T>;

/** The second argument of a handler. */
export interface HandlerContext<Progress, HostDefs extends MessageDefs<HostDefs>> {
  /** Aborts when the caller cancels, the request times out, or the worker closes. */
  readonly signal: AbortSignal;
  /** The attempt number. Above 1 an earlier worker died while it processed this request. */
  readonly attempt: number;
  /** The caller's W3C `traceparent`, if it sent one. */
  readonly traceparent: string | undefined;
  /** Reports progress to the caller. */
  readonly progress: (progress: Progress) => void;
  /** Calls one of the host's `hostHandlers`. */
  readonly callHost: <Type extends MessageType<HostDefs>>(
    type: Type,
    ...rest: SendArguments<HostDefs, Type, never>
  ) => Promise<ResultOf<HostDefs, Type>>;
}

/** One function per message. The handler of a stream is a generator. */
export type Handlers<
  Defs extends MessageDefs<Defs>,
  HostDefs extends MessageDefs<HostDefs> = Record<never, MessageDef>,
> = {
  readonly [Type in MessageType<Defs>]: Defs[Type] extends { readonly item: infer Item }
    ? (
        payload: PayloadOf<Defs, Type>,
        context: HandlerContext<ProgressOf<Defs, Type>, HostDefs>,
      ) => AsyncIterable<Item> | Iterable<Item>
    : (
        payload: PayloadOf<Defs, Type>,
        context: HandlerContext<ProgressOf<Defs, Type>, HostDefs>,
      ) => MaybePromise<ResultOf<Defs, Type>>;
};

/** The handlers on the host for `callHost`. */
export type HostHandlers<HostDefs extends MessageDefs<HostDefs>> = {
  readonly [Type in MessageType<HostDefs>]: (
    payload: PayloadOf<HostDefs, Type>,
  ) => MaybePromise<ResultOf<HostDefs, Type>>;
};

/** A message in the middleware of one side. */
export interface MiddlewareMessage {
  /** Seen from this side: what it sends is outgoing. */
  readonly direction: 'outgoing' | 'incoming';
  readonly type: string;
  /** Identifies the request and its response. */
  readonly tx: string | number;
  readonly value: unknown;
}

/** Receives a message and may return another value for it; undefined leaves it unchanged. An error fails the request. */
export type Middleware = (message: MiddlewareMessage) => MaybePromise<{ readonly value: unknown } | undefined | void>;

/** Converts values to bytes and back. Host and worker must use the same serializer. */
export interface Serializer {
  /** Compared at start: a worker with another serializer refuses to start. */
  readonly name: string;
  serialize(value: unknown): Uint8Array;
  deserialize(bytes: Uint8Array): unknown;
}
