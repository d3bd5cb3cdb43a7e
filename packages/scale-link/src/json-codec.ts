import { GrpcStatus, GrpcStatusError, type MessageCodec } from '@drover/function-rpc';
import { checkShape, type MessageShapes } from './message-shapes.js';

/** Encodes messages as JSON. A message with another shape ends the stream with INVALID_ARGUMENT and names the field. */
export function jsonCodec<In extends { readonly kind: string }, Out>(shapes: MessageShapes<In>): MessageCodec<In, Out> {
  return {
    read: (buffer, start, end) => parseLinkMessage(buffer.toString('utf8', start, end), shapes),
    write: (writer, message) => writer.raw(Buffer.from(JSON.stringify(message), 'utf8')),
  };
}

/** Parses and checks a message. Throws a GrpcStatusError if it is not one. */
export function parseLinkMessage<In extends { readonly kind: string }>(text: string, shapes: MessageShapes<In>): In {
  const value = parse(text);
  const problem = checkShape(value, shapes);
  if (problem !== undefined) throw new GrpcStatusError(GrpcStatus.INVALID_ARGUMENT, problem);
  return value as In; // checked above
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new GrpcStatusError(GrpcStatus.INVALID_ARGUMENT, 'a message is not JSON');
  }
}
