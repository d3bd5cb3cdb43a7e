import { EventStream } from '../grpc/event-stream.js';
import { eventStreamPath } from '../grpc/headers.js';
import type { KeepAlive } from '../grpc/keep-alive.js';
import { GrpcServer, type ServerLimits } from './grpc-server.js';
import type { RpcRefusal } from './refusal.js';
import { settlementMethods, type SettlementHandlers } from './settlement.js';

/** Options of a FunctionRpcServer. */
export interface FunctionRpcServerOptions {
  /** Called for every stream. It must call `start`, and raise `maxMessageBytes` once the worker has identified itself. */
  readonly onStream: (stream: EventStream) => void;
  /** Without handlers the Settlement service is unimplemented. */
  readonly settlement?: SettlementHandlers;
  readonly onRefused?: (refusal: RpcRefusal) => void;
  readonly limits?: Partial<ServerLimits>;
  readonly keepAlive?: KeepAlive;
}

/** The host's end of FunctionRpc. Identifying and authorizing workers is up to `onStream`. */
export class FunctionRpcServer extends GrpcServer<EventStream> {
  constructor({ settlement, ...options }: FunctionRpcServerOptions) {
    super({
      ...options,
      path: eventStreamPath,
      encoding: 'proto',
      createStream: (http2, of) => new EventStream(http2, of),
      unary: settlement ? settlementMethods(settlement) : new Map(),
    });
  }
}
