import { request } from 'node:http';
import { StatusResultStatus } from '@drover/function-rpc';
import { afterEach, expect, it } from 'vitest';
import { endAll, fixture, WorkerUnderTest } from './support/worker-under-test.js';

afterEach(endAll);

it('streams request and response through the address that the app offers', async () => {
  const worker = await WorkerUnderTest.start();
  const { capabilities } = await worker.init(fixture('http-stream'));
  const base = capabilities['HttpUri'] ?? '';
  expect(base).toMatch(/^http:\/\/localhost:\d+\/$/);
  const trigger = await worker.triggerOf('upper');

  const chunks: string[] = [];
  const answered = new Promise<{ status: number | undefined; headers: NodeJS.Dict<string | string[]> }>(
    (resolve, reject) => {
      const outgoing = request(`${base}api/upper/you?x=1`, {
        method: 'POST',
        headers: { 'x-ms-invocation-id': 'streamed', 'x-forwarded-host': 'example.test', 'x-forwarded-proto': 'https' },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          chunks.push(chunk);
          // The rest is sent once the first part has come back: nothing is held until the end.
          if (chunks.length === 1) outgoing.end('second');
        });
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers }));
      });
      outgoing.write('first');
    },
  );
  const id = worker.invoke(
    'upper',
    { name: trigger, data: { http: {} } },
    {
      invocationId: 'streamed',
      triggerMetadata: {
        Headers: { json: '{"content-type":"text/plain"}' },
        Query: { json: '{}' },
        name: { string: 'you' },
      },
    },
  );
  const { status, headers } = await answered;
  expect(status).toBe(203);
  expect(headers).toMatchObject({ 'x-name': 'you', 'x-type': 'text/plain', 'x-ms-invocation-id': 'streamed' });
  expect(chunks.join('')).toBe('FIRSTSECOND');
  const { response } = await worker.finished(id);
  expect(response.result?.status).toBe(StatusResultStatus.Success);
  expect(response.returnValue).toBeUndefined();
});
