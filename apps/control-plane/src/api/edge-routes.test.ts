import { describe, expect, it } from 'vitest';
import { EdgeMatcher } from './edge-routes.js';

const matcher = new EdgeMatcher();

const seen = (method: string, url: string): unknown => {
  const match = matcher.match(method, url);
  expect(matcher.match(method, url)).toEqual(match); // and once more, when it is known
  return match && [match.operation.name, match.subject, ...(match.token === undefined ? [] : [match.token])];
};

describe('the addresses of the edge', () => {
  it.each([
    ['POST', '/v1/functions/hello:invoke', ['invoke', 'hello']],
    ['POST', '/v1/functions/hello:enqueue?x=1', ['enqueue', 'hello']],
    ['POST', '/v1/functions/hello:enqueue-batch', ['enqueue-batch', 'hello']],
    ['GET', '/v1/executions/0192', ['get', '0192']],
    ['POST', '/v1/executions/0192:cancel', ['cancel', '0192']],
    ['POST', '/v1/executions/0192:replay', ['replay', '0192']],
    ['POST', '/v1/internal/executions/0192:complete', ['complete', '0192']],
    ['POST', '/v1/internal/attempts/3.proof/0192:complete', ['complete', '0192', '3.proof']],
    ['GET', '/function/hello', ['open-faas', 'hello']],
    ['PUT', '/function/hello.openfaas-fn?a=b', ['open-faas', 'hello.openfaas-fn']],
    ['POST', '/async-function/hello', ['open-faas-async', 'hello']],
  ])('knows %s %s', (method, url, expected) => {
    expect(seen(method, url)).toEqual(expected);
  });

  it('are told apart by method, also when one of them is known', () => {
    expect(seen('POST', '/v1/functions/known:invoke')).toEqual(['invoke', 'known']);
    expect(seen('GET', '/v1/functions/known:invoke')).toBeUndefined();
  });

  it('are known by the thousand, and no more', () => {
    for (let n = 0; n < 3_000; n += 1) expect(seen('POST', `/v1/functions/f${n}:invoke`)).toEqual(['invoke', `f${n}`]);
  });

  it('splits at the last colon and decodes nothing', () => {
    expect(seen('POST', '/v1/functions/a:b:invoke')).toEqual(['invoke', 'a:b']);
    expect(seen('POST', '/v1/functions/a%3Ainvoke')).toBeUndefined();
    expect(seen('POST', '/v1/functions/a%3Ab:invoke')).toEqual(['invoke', 'a%3Ab']);
  });

  it.each([
    ['GET', '/v1/functions/hello:invoke'],
    ['POST', '/v1/functions/hello'],
    ['POST', '/v1/functions/hello:toString'],
    ['POST', '/v1/functions/:invoke'],
    ['POST', '/v1/functions/a/b:invoke'],
    ['GET', '/v1/executions'],
    ['GET', '/v1/executions/'],
    ['GET', '/v1/executions/0192:cancel'],
    ['POST', '/v1/internal/attempts/0192:complete'],
    ['GET', '/async-function/hello'],
    ['GET', '/functions/hello'],
    ['GET', '/'],
    ['GET', ''],
  ])('leaves %s %s to others', (method, url) => {
    expect(seen(method, url)).toBeUndefined();
  });
});
