import { corsPolicyOf } from '@drover/http-edge';
import { afterEach, describe, expect, it } from 'vitest';
import { parseGatewayConfig } from '../config.js';
import { closeAll, closedUrl, gateway, send, worker, type Lane } from './gateway.test.fixture.js';

afterEach(closeAll);

const policyOf = (environment: Record<string, string>) => {
  const cors = corsPolicyOf(parseGatewayConfig(environment));
  return cors ? { cors } : {};
};
const named = policyOf({ DROVER_CORS_ORIGINS: 'https://app.example, http://localhost:5173/' });
const preflight = {
  method: 'OPTIONS',
  path: '/api/orders/7',
  headers: {
    origin: 'https://app.example',
    'access-control-request-method': 'PATCH',
    'access-control-request-headers': 'authorization,content-type,if-match',
  },
};

describe.each<Lane>(['fast lane', "Node's server"])('pages of other origins, on %s', (lane) => {
  it('get the permission to call from the gateway, without a worker', async () => {
    const { url } = await gateway(lane, [], named);
    const answer = await send(url, preflight);
    expect(answer.status).toBe(204);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-methods': 'PATCH',
      'access-control-allow-headers': 'authorization,content-type,if-match',
      'access-control-max-age': '600',
      vary: 'Origin',
    });
    expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
  });

  it('get none if their origin is not allowed, and a cache is told so', async () => {
    const { url } = await gateway(lane, [], named);
    const foreign = { ...preflight.headers, origin: 'https://app.example.evil' };
    const answer = await send(url, { ...preflight, headers: foreign });
    expect(answer).toMatchObject({ status: 204, headers: { vary: 'Origin' } });
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('get none unless a setting says so: the worker answers as to any other client', async () => {
    const one = await worker('one', (_request, response) => response.writeHead(405).end());
    const { url } = await gateway(lane, [one]);
    const answer = await send(url, preflight);
    expect(answer.status).toBe(405);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('may read answers of a worker, with the headers that records have', async () => {
    const one = await worker('one', (_request, response) => response.writeHead(200, { vary: 'Accept' }).end('one'));
    const credentials = { DROVER_CORS_ORIGINS: 'https://app.example', DROVER_CORS_CREDENTIALS: 'on' };
    const { url } = await gateway(lane, [one], policyOf(credentials));
    const { headers } = await send(url, { headers: { origin: 'https://app.example' } });
    expect(headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-credentials': 'true',
      vary: 'Accept, Origin',
    });
    expect(headers['access-control-expose-headers']).toMatch(/ETag, Location, Retry-After/);
    expect(await send(url)).not.toHaveProperty('headers.access-control-allow-origin');
  });

  it('may read errors of the gateway, too', async () => {
    const { url } = await gateway(
      lane,
      [{ name: 'gone', url: await closedUrl() }],
      policyOf({ DROVER_CORS_ORIGINS: '*' }),
    );
    const answer = await send(url, { headers: { origin: 'https://any.example' } });
    expect(answer).toMatchObject({ status: 503, headers: { 'access-control-allow-origin': '*' } });
  });
});

describe('the setting', () => {
  it('refuses what is not an origin, and credentials for all origins', () => {
    expect(() => policyOf({ DROVER_CORS_ORIGINS: 'app.example' })).toThrow('an origin is a scheme, a host and a port');
    expect(() => policyOf({ DROVER_CORS_ORIGINS: 'https://app.example/path' })).toThrow('DROVER_CORS_ORIGINS has');
    expect(() => policyOf({ DROVER_CORS_ORIGINS: '*', DROVER_CORS_CREDENTIALS: 'on' })).toThrow('list of origins');
  });
});
