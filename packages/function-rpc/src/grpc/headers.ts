import type { IncomingHttpHeaders } from 'node:http2';
import { GrpcStatus, grpcStatusName } from './grpc-status.js';

/** The path of the only method of FunctionRpc. */
export const eventStreamPath = '/AzureFunctionsRpcMessages.FunctionRpc/EventStream';

/** How messages of a service are encoded: protocol buffers, or JSON. */
export type GrpcEncoding = 'proto' | 'json';

/** Returns the content type of requests that this package sends. */
export function grpcContentType(encoding: GrpcEncoding): string {
  return `application/grpc+${encoding}`;
}

/** The peer logs status messages, so they are cut to a few lines. */
const longestMessage = 1_024;

/** Without a suffix the two ends have agreed on the encoding; some clients can send no other content type. */
const contentTypes: Readonly<Record<GrpcEncoding, RegExp>> = {
  proto: /^application\/grpc(\+proto)?($|;)/i,
  json: /^application\/grpc(\+json)?($|;)/i,
};

/** True for content types whose body can be decoded. */
export function isGrpcContentType(type: string | undefined, encoding: GrpcEncoding): type is string {
  return type !== undefined && contentTypes[encoding].test(type);
}

/** Returns the trailers that end a call. */
export function statusTrailers(status: GrpcStatus, message: string): Record<string, string> {
  const trailers = { 'grpc-status': String(status) };
  return message === '' ? trailers : { ...trailers, 'grpc-message': encodeGrpcMessage(message) };
}

/** Reads status and message from trailers, or from the headers of a trailers-only response. */
export function statusOf(headers: IncomingHttpHeaders): { status: GrpcStatus; message: string } | undefined {
  const status = headers['grpc-status'];
  if (typeof status !== 'string') return undefined;
  const message = headers['grpc-message'];
  return {
    status: /^\d{1,3}$/.test(status) ? Number(status) : GrpcStatus.UNKNOWN,
    message:
      typeof message === 'string' && message !== '' ? decodeGrpcMessage(message) : grpcStatusName(Number(status)),
  };
}

/** Percent-encodes everything but printable ASCII, as gRPC requires. */
function encodeGrpcMessage(message: string): string {
  let encoded = '';
  for (const byte of Buffer.from(message.slice(0, longestMessage), 'utf8')) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return encoded;
}

/** Reverses `encodeGrpcMessage`. Leaves malformed escapes as they are. */
function decodeGrpcMessage(encoded: string): string {
  const text = encoded.slice(0, 3 * longestMessage);
  const bytes: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const hex = /^%([0-9a-f]{2})/i.exec(text.slice(at, at + 3))?.[1];
    if (hex === undefined) bytes.push(...Buffer.from(text.charAt(at), 'utf8'));
    else {
      bytes.push(Number.parseInt(hex, 16));
      at += 2;
    }
  }
  return Buffer.from(bytes).toString('utf8');
}
