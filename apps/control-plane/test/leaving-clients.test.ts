import { connect } from 'node:net';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postText, startFunctionsPlatform, type FunctionsPlatform } from './support/functions.js';
import { parseAnswer, RawConnection } from './support/raw-http.js';
import './support/refusal-matcher.js';
import { Gate } from './support/scripted-endpoint.js';
import { leavesNoSecretBehind } from './support/secrets.js';

let platform: FunctionsPlatform;

leavesNoSecretBehind();
beforeAll(async () => {
  platform = await startFunctionsPlatform();
});
afterAll(() => platform?.stop());

describe('a client that leaves', () => {
  const waits = async (own: string): Promise<Gate> => {
    const gate = new Gate();
    await platform.register(
      own,
      async ({ body }) => {
        await gate.opened;
        return { json: body.input };
      },
      { concurrency: 1, queueSize: 1 },
    );
    return gate;
  };
  const open = async (own: string, input: string): Promise<RawConnection> => {
    const connection = await RawConnection.open(platform.plane.url);
    return connection.send(postText(platform.key, `/v1/functions/${own}:invoke`, JSON.stringify({ input })));
  };
  const waiting = async (own: string, status: string): Promise<number> =>
    (
      (await platform.request(`/v1/executions?function=${own}&status=${status}`)).body as {
        readonly executions: readonly unknown[];
      }
    ).executions.length;

  it('while it waits frees its place, and its call never runs', async () => {
    const gate = await waits('left-queue');
    const first = platform.invoke('left-queue', 'first');
    await eventually(async () => (await waiting('left-queue', 'running')) === 1);
    const leaving = await open('left-queue', 'leaves');
    await eventually(async () => (await waiting('left-queue', 'queued')) === 1);
    expect(await platform.invoke('left-queue', 'no room')).toBeRefusedWith(429, 'QUEUE_FULL');
    await leaving.close();
    await eventually(async () => (await waiting('left-queue', 'timeout')) === 1);
    const next = platform.invoke('left-queue', 'next');
    await eventually(async () => (await waiting('left-queue', 'queued')) === 1);
    gate.open();
    expect([(await first).status, (await next).status]).toEqual([200, 200]);
    expect(platform.endpoint.calls('left-queue').map(({ body }) => body.input)).toEqual(['first', 'next']);
  });

  it('while its endpoint works frees the slot at once: the next call runs although the endpoint never answers the first', async () => {
    const never = new Gate();
    await platform.register(
      'left-running',
      async ({ body }) => {
        if (body.input === 'leaves') await never.opened;
        return { json: body.input };
      },
      { concurrency: 1, queueSize: 1 },
    );
    const leaving = await open('left-running', 'leaves');
    await eventually(async () => (await waiting('left-running', 'running')) === 1);
    await leaving.close();
    expect((await platform.invoke('left-running', 'next')).status).toBe(200);
    expect(await waiting('left-running', 'cancelled')).toBe(1);
    never.open();
  });

  it('only half, having said all, may get its answer or not, but holds nothing up', async () => {
    await platform.register('half');
    const { hostname, port } = new URL(platform.plane.url);
    let received = '';
    await new Promise<void>((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
      socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk));
      socket
        .once('error', reject)
        .once('close', resolve)
        .once('end', () => socket.destroy());
      socket.end(postText(platform.key, '/v1/functions/half:invoke', '{"input":1}'), 'latin1');
    });
    if (received !== '') expect(parseAnswer(received).status).toBe(200);
    await eventually(async () => (await waiting('half', 'running')) === 0);
    expect((await platform.invoke('half', 'next')).status).toBe(200);
  });
});
