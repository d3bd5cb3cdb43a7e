import { describe, expect, it } from 'vitest';
import { failureOfBus, isSessionTimeout, isSettledAlready } from './failures.js';

const coded = (code: string, message = 'text'): Error => Object.assign(new Error(message), { code });

describe('failures of the Service Bus SDK', () => {
  it.each([
    ['MessagingEntityNotFound', 'entity-missing'],
    ['UnauthorizedAccess', 'denied'],
    ['MessageLockLost', 'lock-lost'],
    ['SessionLockLost', 'lock-lost'],
    ['SessionCannotBeLocked', 'no-session'],
    ['ServiceBusy', 'throttled'],
    ['ServiceCommunicationProblem', 'unavailable'],
    ['ServiceTimeout', 'unavailable'],
  ])('are known by code: %s is %s', (code, failure) => {
    expect(failureOfBus(coded(code))).toBe(failure);
  });

  it('are known by text where the SDK has no code', () => {
    expect(failureOfBus(coded('GeneralError', 'InvalidOperationError: sessions are required'))).toBe('refused');
    expect(failureOfBus(coded('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1'))).toBe('unavailable');
    expect(failureOfBus('text')).toBe('unavailable');
  });

  it('tell an idle entity and a repeated settlement from faults', () => {
    expect(isSessionTimeout(coded('ServiceTimeout'))).toBe(true);
    expect(isSessionTimeout(coded('UnauthorizedAccess'))).toBe(false);
    expect(isSettledAlready(new Error('The message has either been deleted or already settled'))).toBe(true);
    expect(isSettledAlready(coded('MessageLockLost'))).toBe(false);
  });
});
