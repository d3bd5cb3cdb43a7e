import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFunctionsPlatform, type FunctionsPlatform } from './support/functions.js';
import './support/refusal-matcher.js';
import { leavesNoSecretBehind } from './support/secrets.js';

const handler = `export default async (input, context) => {
  if (input === 'throw') throw new Error('of the handler');
  if (input === 'exit') process.exit(3);
  if (input === 'hang') await new Promise(() => undefined);
  if (input === 'choose') { context.setStatus(404); context.setHeader('X-Own', 'v'); return 'not here'; }
  if (input === 'user') return process.getuid();
  if (input === 'bytes') return new Uint8Array([1, 2, 3]);
  const { metadata, headers, traceId, attempt, executionId, functionName } = context;
  return { input, metadata, headers, traceId, attempt, executionId, functionName, proto: Object.keys(Object.prototype) };
};`;

let platform: FunctionsPlatform;
let directory: string;

leavesNoSecretBehind();
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'drover-test-'));
  await chmod(directory, 0o711); // as root, handlers run as another user, which must be able to read them
  await writeFile(path.join(directory, 'local.mjs'), handler);
  platform = await startFunctionsPlatform({
    DROVER_HANDLERS_DIR: directory,
    DROVER_SECRETS_KEY: 'the key of the tests, long enough',
    EXECUTION_STORE: 'memory',
  });
  const spec = { name: 'local', executionMode: 'LOCAL', handler: 'local.mjs', timeoutMs: 60_000, maxRetries: 0 };
  const { status, text } = await platform.post('/v1/functions', spec);
  if (status !== 201) throw new Error(`registering: ${status} ${text}`);
});
afterAll(async () => {
  await platform?.stop();
  await rm(directory, { recursive: true, force: true });
});

describe('a function in the mode LOCAL', () => {
  it('that is changed runs with the new variables and handler, also while calls run on the old ones', async () => {
    const code = (name: string): string =>
      `export default (ms, { idempotencyKey }) => new Promise((resolve) => setTimeout(resolve, ms, ['${name}', process.env.GREETING, idempotencyKey]))`;
    for (const name of ['old', 'new']) await writeFile(path.join(directory, `${name}.mjs`), code(name));
    const spec = { name: 'changing', executionMode: 'LOCAL', handler: 'old.mjs', env: { GREETING: 'one' } };
    expect((await platform.post('/v1/functions', spec)).status).toBe(201);
    const running = platform.invoke('changing', 400);
    await platform.invoke('changing', 0);
    const patch = (json: unknown) => platform.request('/v1/functions/changing', { method: 'PATCH', json });
    expect((await patch({ env: { GREETING: 'two' } })).status).toBe(200);
    const key = { 'idempotency-key': 'order-1' };
    expect((await platform.invoke('changing', 0, key)).envelope.output).toEqual(['old', 'two', 'order-1']);
    expect((await patch({ handler: 'new.mjs' })).status).toBe(200);
    expect((await platform.invoke('changing', 0)).envelope.output).toEqual(['new', 'two', null]);
    expect((await running).envelope.output).toEqual(['old', 'one', null]);
    expect(await patch({ handler: 'missing.mjs' })).toBeRefusedWith(400, 'VALIDATION_ERROR');
  });

  it('does not run as root, and the log says as whom and what that means', async () => {
    const asRoot = process.getuid?.() === 0;
    expect((await platform.invoke('local', 'user')).envelope.output).toBe(asRoot ? 65_530 : process.getuid?.());
    const [enabled] = platform.plane.log.filter(({ kind }) => kind === 'local.enabled');
    expect(enabled?.['level']).toBe(asRoot ? 'info' : 'warn');
    expect(enabled?.['msg']).toMatch(asRoot ? /run as uid 65530, without access/ : /isolate crashes, not access/);
  });

  it('gets input, metadata and headers, and returns its output', async () => {
    const { status, body } = await platform.post(
      '/v1/functions/local:invoke',
      { input: { a: 1 }, metadata: { m: 'v' } },
      { 'X-Own': 'h', 'x-trace-id': 't-1' },
    );
    expect(status).toBe(200);
    const { executionId } = body as { readonly executionId: string };
    expect(body).toMatchObject({
      status: 'success',
      output: {
        input: { a: 1 },
        metadata: { m: 'v' },
        headers: { 'x-own': 'h' },
        traceId: 't-1',
        attempt: 1,
        executionId,
        functionName: 'local',
        proto: [],
      },
    });
    expect(body).not.toHaveProperty('output.headers.authorization');
  });

  it('may choose a status and headers, and return bytes', async () => {
    const chosen = await platform.invoke('local', 'choose');
    expect(chosen.status).toBe(404);
    expect(chosen.headers.get('x-nanofaas-function-status')).toBe('true');
    expect(chosen.envelope).toMatchObject({ output: 'not here', statusCode: 404, headers: { 'x-own': 'v' } });
    expect((await platform.invoke('local', 'bytes')).envelope).toMatchObject({ output: 'AQID', encoding: 'base64' });
  });

  it('fails by itself: what it throws, and even the end of its process, is told without a path, and the next call works', async () => {
    for (const [input, message] of [
      ['throw', /of the handler/],
      ['exit', /exit code 3/],
    ] as const) {
      const { status, envelope, text } = await platform.invoke('local', input);
      expect(status).toBe(500);
      expect(envelope.error?.message).toMatch(message);
      expect(text).not.toContain(directory);
      expect((await platform.invoke('local', 'next')).status).toBe(200);
    }
  });

  it('that does not answer in time has 408 and the envelope', async () => {
    await platform.request('/v1/functions/local', { method: 'PATCH', json: { timeoutMs: 200 } });
    const { status, envelope } = await platform.invoke('local', 'hang', { 'x-timeout-ms': '5000' });
    expect(status).toBe(408);
    expect(envelope).toMatchObject({ status: 'timeout', error: { code: 'EXECUTION_TIMEOUT' } });
    await platform.request('/v1/functions/local', { method: 'PATCH', json: { timeoutMs: 60_000 } });
    expect((await platform.invoke('local', 'next')).status).toBe(200);
  });

  it('with a module that is not there, or elsewhere, is not registered, and no path is told', async () => {
    for (const handler of ['missing.mjs', '../local.mjs', 'sub/../../local.mjs']) {
      const answer = await platform.post('/v1/functions', { name: 'missing', executionMode: 'LOCAL', handler });
      expect(answer).toBeRefusedWith(400, 'VALIDATION_ERROR');
      expect(answer.text).not.toContain(directory);
    }
  });
});
