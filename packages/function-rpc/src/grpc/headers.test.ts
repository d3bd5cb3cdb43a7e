import { describe, expect, it } from 'vitest';
import { GrpcStatus, grpcStatusName } from './grpc-status.js';
import { decodeGrpcMessage, encodeGrpcMessage, isGrpcContentType, statusOf, statusTrailers } from './headers.js';

describe('grpc-message', () => {
  it.each(['', 'plain words', '100 % sure', 'two\nlines\r\n', 'Grüße, 世界 😀', '%41', 'tab\there'])(
    'survives: %j',
    (text) => {
      const encoded = encodeGrpcMessage(text);
      expect(encoded).toMatch(/^[\x20-\x7e]*$/);
      expect(decodeGrpcMessage(encoded)).toBe(text);
    },
  );

  it('is shown as it is when a peer did not encode it properly', () => {
    expect(decodeGrpcMessage('50% of %zz')).toBe('50% of %zz');
  });

  it('is cut to a length that fits into headers', () => {
    expect(encodeGrpcMessage('x'.repeat(100_000)).length).toBeLessThan(4_000);
  });
});

describe('statusOf', () => {
  it('reads what statusTrailers wrote', () => {
    const { status, message } = statusOf(statusTrailers(GrpcStatus.NOT_FOUND, 'no äpp')) ?? {};
    expect([status, message]).toEqual([5, 'no äpp']);
  });

  it('names the status without a message, and does not trust one that is not a number', () => {
    expect(statusOf({ 'grpc-status': '14' })).toEqual({ status: 14, message: 'UNAVAILABLE' });
    expect(statusOf({ 'grpc-status': 'soon' })?.status).toBe(GrpcStatus.UNKNOWN);
    expect(statusOf({})).toBeUndefined();
    expect(grpcStatusName(99)).toBe('status 99');
  });
});

describe('isGrpcContentType', () => {
  it.each(['application/grpc', 'application/grpc+proto', 'application/grpc;charset=utf-8', 'Application/GRPC'])(
    'takes %s',
    (type) => expect(isGrpcContentType(type)).toBe(true),
  );
  it.each(['application/grpc-web', 'application/grpc+json', 'application/json', '', undefined])('refuses %s', (type) =>
    expect(isGrpcContentType(type)).toBe(false),
  );
});
