import { describe, expect, it } from 'vitest';
import { GrpcStatus, grpcStatusName } from './grpc-status.js';
import { isGrpcContentType, statusOf, statusTrailers } from './headers.js';

const encoded = (message: string) => statusTrailers(GrpcStatus.INTERNAL, message)['grpc-message'];
const decoded = (message: string) => statusOf({ 'grpc-status': '13', 'grpc-message': message })?.message;

describe('grpc-message', () => {
  it.each(['plain words', '100 % sure', 'two\nlines\r\n', 'Grüße, 世界 😀', '%41', 'tab\there'])(
    'survives: %j',
    (text) => {
      const sent = encoded(text) ?? '';
      expect(sent).toMatch(/^[\x20-\x7e]+$/);
      expect(decoded(sent)).toBe(text);
    },
  );

  it('is omitted when it is empty', () => {
    expect(encoded('')).toBeUndefined();
  });

  it('is shown as it is when a peer did not encode it properly', () => {
    expect(decoded('50% of %zz')).toBe('50% of %zz');
  });

  it('is cut to a length that fits into headers', () => {
    expect(encoded('x'.repeat(100_000))?.length).toBeLessThan(4_000);
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
    (type) => expect(isGrpcContentType(type, 'proto')).toBe(true),
  );
  it.each(['application/grpc-web', 'application/grpc+json', 'application/json', '', undefined])('refuses %s', (type) =>
    expect(isGrpcContentType(type, 'proto')).toBe(false),
  );
  it('takes JSON, or no named encoding, for a service of JSON messages', () => {
    expect(isGrpcContentType('application/grpc+json', 'json')).toBe(true);
    expect(isGrpcContentType('application/grpc', 'json')).toBe(true);
    expect(isGrpcContentType('application/grpc+proto', 'json')).toBe(false);
  });
});
