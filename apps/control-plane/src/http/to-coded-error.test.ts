import { accessDenied } from '@drover/collection-engine';
import { hasCode } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { toCodedError } from './to-coded-error.js';

const request = { contentType: 'text/html', bodyLimitBytes: 1_024, addressLimitBytes: 512 };
const framework = (code: string, statusCode?: number): Error =>
  Object.assign(new Error(`said by ${code}`), { code, ...(statusCode !== undefined && { statusCode }) });
const invalid = (validation: object[], validationContext?: string): Error =>
  Object.assign(new Error('invalid'), {
    code: 'FST_ERR_VALIDATION',
    statusCode: 400,
    validation,
    ...(validationContext !== undefined && { validationContext }),
  });
const problem = (over: object): object => ({
  keyword: 'type',
  instancePath: '',
  params: {},
  message: 'is bad',
  ...over,
});

describe('toCodedError', () => {
  it('leaves our own errors as they are', () => {
    const error = accessDenied({ scope: 'control:write' });
    expect(toCodedError(error, request)).toEqual({ error });
  });

  it.each([
    ['FST_ERR_CTP_BODY_TOO_LARGE', 413, 'PAYLOAD_TOO_LARGE', /1024 bytes/],
    ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 415, 'UNSUPPORTED_MEDIA_TYPE', /text\/html/],
    ['FST_ERR_MAX_PARAM_LENGTH', 414, 'URI_TOO_LONG', /512 bytes/],
    ['FST_ERR_BAD_URL', 400, 'BAD_REQUEST', /not well encoded/],
    ['FST_ERR_CTP_INVALID_CONTENT_LENGTH', 400, 'BAD_REQUEST', /said by/],
    ['FST_ERR_SOMETHING_NEW', 418, 'BAD_REQUEST', /said by/],
  ])('has words for %s', (code, statusCode, ours, message) => {
    const { error } = toCodedError(framework(code, statusCode), request);
    expect(error).toMatchObject({ code: ours, fault: 'caller', message: expect.stringMatching(message) });
  });

  it('names the place of an invalid value, in the message and in the details', () => {
    const error = invalid([problem({ instancePath: '/name', message: 'must be string' })], 'body');
    expect(toCodedError(error, request)).toMatchObject({
      error: { code: 'VALIDATION_ERROR', status: 400, message: 'body/name must be string' },
      details: [{ path: 'body/name', message: 'must be string' }],
    });
  });

  it('names the property that is one too many, and shortens a long name', () => {
    const extra = (name: string) =>
      toCodedError(
        invalid([problem({ keyword: 'additionalProperties', params: { additionalProperty: name } })], 'body'),
        request,
      );
    expect(extra('tenantId').error?.message).toBe('body must not have the property "tenantId"');
    expect(extra('x'.repeat(5_000)).error?.message.length).toBeLessThan(200);
  });

  it('lists what would have been right when the value is not one of a few', () => {
    const choice = (allowedValue: string) =>
      problem({ keyword: 'const', instancePath: '/scopes/0', params: { allowedValue }, message: 'must be constant' });
    const error = invalid([choice('control:read'), choice('control:write'), problem({ keyword: 'anyOf' })], 'body');
    expect(toCodedError(error, request).error?.message).toBe('body/scopes/0 must be control:read or control:write');
  });

  it('says something even when the validator says nothing', () => {
    expect(toCodedError(invalid([]), request).error?.message).toBe('request is not valid');
    expect(toCodedError(invalid([problem({ message: undefined })]), request).error?.message).toBe(
      'request is not valid',
    );
  });

  it('does not quote a content type at length, and says when there is none', () => {
    const refused = framework('FST_ERR_CTP_INVALID_MEDIA_TYPE', 415);
    const long = toCodedError(refused, { ...request, contentType: 'x/'.repeat(5_000) });
    expect(long.error?.message.length).toBeLessThan(250);
    const none = toCodedError(refused, { ...request, contentType: '' });
    expect(none.error?.message).toMatch(/without a content type/);
    expect(hasCode(none.error, 'UNSUPPORTED_MEDIA_TYPE')).toBe(true);
  });

  it.each([
    ['a plain error', new Error('x')],
    ['an error of the framework itself', framework('FST_ERR_REP_INVALID_PAYLOAD_TYPE', 500)],
    ['an error of the database driver', framework('23505')],
    ['something that is no error', { code: 'FST_ERR_CTP_BODY_TOO_LARGE', statusCode: 413 }],
    ['nothing', undefined],
  ])('has no words for %s: nobody expected it', (_, error) => {
    expect(toCodedError(error, request)).toEqual({ error: undefined });
  });
});
