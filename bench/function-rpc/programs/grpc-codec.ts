import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MethodDefinition } from '@grpc/grpc-js';
import type { InvocationRequestInit, InvocationResponseInit } from '@drover/function-rpc';
import protobuf from 'protobufjs';

/** As protobufjs sees a message. */
export interface WireMessage {
  readonly requestId?: string;
  readonly startStream?: { readonly workerId: string };
  readonly invocationRequest?: InvocationRequestInit;
  readonly invocationResponse?: InvocationResponseInit;
}

const protoFolder = fileURLToPath(new URL('../proto/', import.meta.resolve('@drover/function-rpc')));
const root = new protobuf.Root();
root.resolvePath = (_, target) => path.join(protoFolder, target);
const type = root.loadSync('FunctionRpc.proto').lookupType('AzureFunctionsRpcMessages.StreamingMessage');

// Encoded and decoded as they are, which is the least that protobufjs does; proto-loader copies each message once more.
const serialize = (message: WireMessage): Buffer => type.encode(message).finish() as Buffer; // on Node it is one
const deserialize = (bytes: Buffer): WireMessage => type.decode(bytes) as WireMessage; // it has the fields of the type

export const eventStream: MethodDefinition<WireMessage, WireMessage> = {
  path: '/AzureFunctionsRpcMessages.FunctionRpc/EventStream',
  requestStream: true,
  responseStream: true,
  requestSerialize: serialize,
  requestDeserialize: deserialize,
  responseSerialize: serialize,
  responseDeserialize: deserialize,
};

export const unlimited = { 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 };
