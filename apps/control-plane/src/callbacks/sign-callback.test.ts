import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { signatureHeaders } from './sign-callback.js';

const secret = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const key = Buffer.from(secret, 'base64');
const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', sentAt: 1_614_265_330_999, body: '{"test": 2432232314}' };

describe('the signature of a callback', () => {
  it('is the one that implementations of Standard Webhooks compute', () => {
    expect(signatureHeaders(message, [key])).toEqual([
      'webhook-id',
      message.id,
      'webhook-timestamp',
      '1614265330',
      'webhook-signature',
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    ]);
  });

  it('is made with every key of a rotation, and over bytes as they are', () => {
    const other = Buffer.alloc(32, 7);
    const body = Buffer.from([0, 255, 10]);
    const signed = Buffer.concat([Buffer.from(`${message.id}.1614265330.`), body]);
    const expected = [key, other].map((one) => `v1,${createHmac('sha256', one).update(signed).digest('base64')}`);
    expect(signatureHeaders({ ...message, body }, [key, other])[5]).toBe(expected.join(' '));
  });

  it('is absent without a key', () => {
    expect(signatureHeaders(message, [])).toEqual([]);
  });
});
