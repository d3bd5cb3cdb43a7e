import { expect, it } from 'vitest';
import { failureOf, mayPass } from './storage-queue.js';

it.each([
  [{ code: 'QueueNotFound', statusCode: 404 }, 'queue-missing'],
  [{ code: 'MessageNotFound', statusCode: 404 }, 'message-gone'],
  [{ code: 'PopReceiptMismatch', statusCode: 400 }, 'receipt-outdated'],
  [{ code: 'AuthenticationFailed', statusCode: 403 }, 'denied'],
  [{ code: 'NoAuthenticationInformation', statusCode: 401 }, 'denied'],
  [{ code: 'ServerBusy', statusCode: 503 }, 'throttled'],
  [{ code: undefined, statusCode: 429 }, 'throttled'],
  [{ code: 'QueueBeingDeleted', statusCode: 409 }, 'unavailable'],
  [{ code: 'InvalidXmlDocument', statusCode: 400 }, 'refused'],
  [{ code: 'RequestBodyTooLarge', statusCode: 413 }, 'refused'],
  [{ code: 'InternalError', statusCode: 500 }, 'unavailable'],
  [{ code: 'ECONNREFUSED' }, 'unavailable'],
  [{ code: undefined, statusCode: 404 }, 'unavailable'],
  [{ statusCode: 408 }, 'unavailable'],
  [new Error('socket hang up'), 'unavailable'],
  [undefined, 'unavailable'],
  ['text', 'unavailable'],
])('the service means by %j: %s', (error, failure) => {
  expect(failureOf(error)).toBe(failure);
});

it('only what may pass is worth another try', () => {
  expect((['unavailable', 'throttled', 'denied'] as const).every(mayPass)).toBe(true);
  expect((['queue-missing', 'message-gone', 'receipt-outdated', 'refused'] as const).some(mayPass)).toBe(false);
});
