import { describe, expect, it } from 'vitest';
import type { CoreInvocationResponse } from '../loading/functions-core.js';
import { success } from './exceptions.js';
import { approximateBytes, toInvocationResponse } from './invocation-response.js';
import { toRpcCookie } from './rpc-cookie.js';

describe('a response', () => {
  it('has numbers where libraries have names', () => {
    const cookies = ['none', 'lax', 'strict', 'explicitNone'].map((sameSite) => ({ name: sameSite, sameSite }));
    const made = { returnValue: { http: { cookies } } } as unknown as CoreInvocationResponse; // as libraries write it
    const { returnValue } = toInvocationResponse('i', made, success);
    expect(returnValue?.http?.cookies?.map(({ sameSite }) => sameSite)).toEqual([0, 1, 2, 3]);
  });

  it('sends whole numbers that are too large for an integer as what they are', () => {
    const made = { outputData: [{ name: 'o', data: { int: 1e30 } }], returnValue: { int: 7 } };
    expect(toInvocationResponse('i', made, success)).toEqual({
      invocationId: 'i',
      outputData: [{ name: 'o', data: { double: 1e30 } }],
      returnValue: { int: 7 },
      result: success,
    });
  });

  it('knows about how long it is', () => {
    const bytes = Buffer.alloc(100);
    const outputData = [
      { name: 'o', data: { json: 'x'.repeat(10) } },
      { name: 'p', data: null },
    ];
    expect(approximateBytes({ returnValue: { http: { body: { bytes } } }, outputData })).toBe(110);
    expect(approximateBytes({})).toBe(0);
  });
});

describe('a cookie', () => {
  it('takes what a function may set', () => {
    const expires = new Date(5_000);
    expect(
      toRpcCookie({
        name: 'n',
        value: 'v',
        domain: 'd',
        path: '/',
        expires,
        secure: true,
        httpOnly: false,
        sameSite: 'STRICT',
        maxAge: '5',
      }),
    ).toEqual({
      name: 'n',
      value: 'v',
      domain: { value: 'd' },
      path: { value: '/' },
      expires: { value: { seconds: 5 } },
      secure: { value: true },
      httpOnly: { value: false },
      sameSite: 2,
      maxAge: { value: 5 },
    });
  });

  it.each([
    [{ name: 5 }, 'cookie.name'],
    [{ secure: 'yes' }, 'cookie.secure'],
    [{ maxAge: 'soon' }, 'cookie.maxAge'],
    [{ expires: 'tomorrow' }, 'cookie.expires'],
  ])('refuses what is of the wrong type: %o', (cookie, named) => {
    expect(() => toRpcCookie(cookie)).toThrow(`Cannot parse value of '${named}'.`);
  });
});
