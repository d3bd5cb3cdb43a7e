/** What one message carries: in, out, and on the way. */
export interface MessageDef {
  readonly payload?: unknown;
  readonly result?: unknown;
  /** What the handler may report while it works. */
  readonly progress?: unknown;
  /** Makes it a stream: the handler yields any number of these. */
  readonly item?: unknown;
}

/** A definition type that says what each message of a worker looks like; interfaces and type literals both fit. */
export type MessageDefs<Defs> = { readonly [Type in keyof Defs]: MessageDef };

/** Declares messages and checks their shape: `DefineMessages<{ add: { payload: [number, number]; result: number } }>`. */
export type DefineMessages<Defs extends MessageDefs<Defs>> = Defs;

/** Names of all messages. */
export type MessageType<Defs> = keyof Defs & string;
/** Names of messages with one answer. */
export type RequestType<Defs> = {
  [Type in MessageType<Defs>]: Defs[Type] extends { readonly item: unknown } ? never : Type;
}[MessageType<Defs>];
/** Names of messages that are answered by a stream. */
export type StreamType<Defs> = Exclude<MessageType<Defs>, RequestType<Defs>>;

/** `undefined` when the message declares none. */
export type PayloadOf<Defs, Type extends MessageType<Defs>> = 'payload' extends keyof Defs[Type]
  ? Defs[Type]['payload']
  : undefined;
/** `void` when the message declares no result. */
export type ResultOf<Defs, Type extends MessageType<Defs>> = Defs[Type] extends { readonly result: infer Result }
  ? Result
  : void;
/** What the handler of a message may report; `never` when it declares no progress. */
export type ProgressOf<Defs, Type extends MessageType<Defs>> = Defs[Type] extends { readonly progress: infer Progress }
  ? Progress
  : never;
/** What a stream consists of; `never` when the message is none. */
export type ItemOf<Defs, Type extends MessageType<Defs>> = Defs[Type] extends { readonly item: infer Item }
  ? Item
  : never;

/** The payload may be left out when the message has none. */
export type SendArguments<Defs, Type extends MessageType<Defs>, Options> =
  undefined extends PayloadOf<Defs, Type>
    ? [payload?: PayloadOf<Defs, Type>, options?: Options]
    : [payload: PayloadOf<Defs, Type>, options?: Options];

/** A value, at once or later. */
export type MaybePromise<T> = T | Promise<T>;

/** What a handler gets beside its payload. */
export interface HandlerContext<Progress, HostDefs extends MessageDefs<HostDefs>> {
  /** Aborts when the caller gave up, ran out of time, or the worker is closing. */
  readonly signal: AbortSignal;
  /** Which try this is; above 1 an earlier worker died while it had this request. */
  readonly attempt: number;
  /** The caller's W3C `traceparent`, if it sent one. */
  readonly traceparent: string | undefined;
  /** Tells the caller how far the work has come. */
  readonly progress: (progress: Progress) => void;
  /** Asks the host side, which answers with its `hostHandlers`. */
  readonly callHost: <Type extends MessageType<HostDefs>>(
    type: Type,
    ...rest: SendArguments<HostDefs, Type, never>
  ) => Promise<ResultOf<HostDefs, Type>>;
}

/** One function per message; a stream's is an async generator. */
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

/** What the host answers when its worker asks. */
export type HostHandlers<HostDefs extends MessageDefs<HostDefs>> = {
  readonly [Type in MessageType<HostDefs>]: (
    payload: PayloadOf<HostDefs, Type>,
  ) => MaybePromise<ResultOf<HostDefs, Type>>;
};
