import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../src/schema.js';
import { newKey, startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import { outageLimits, PostgresProxy } from './support/postgres-proxy.js';
import type { Answer } from './support/raw-http.js';
import { echo, ScriptedEndpoint } from './support/scripted-endpoint.js';

const environment = { ...outageLimits, DROVER_ENDPOINT_HOSTS: 'loopback', DROVER_HOME_TTL_MS: '3000' };
let test: TestDatabase;
let database: Database;
let proxy: PostgresProxy;
let endpoint: ScriptedEndpoint;
let planes: RunningControlPlane[];
const key = newKey();

/** What the calls of a round were answered. */
interface SentCall {
  readonly input: string;
  readonly hasKey: boolean;
  readonly answer: Answer;
}

beforeEach(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  database = await test.connect();
  proxy = await PostgresProxy.to(test.url);
  endpoint = await ScriptedEndpoint.open();
  planes = [await startControlPlane(proxy.url, environment, key)];
  await post('/v1/functions', { name: 'f', endpointUrl: endpoint.serve('f', echo) });
  await eventually(async () => (await post('/v1/functions/f:invoke', { input: 'first' })).status === 200);
});
afterEach(async () => {
  await proxy.cut(); // a stop would wait for connections that get no answer
  for (const plane of planes) await plane.stop();
  await endpoint.close();
  await proxy.remove();
  await test.drop();
});

function post(path: string, json: unknown, idempotencyKey?: string): Promise<Answer> {
  const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
  return planes.at(-1)?.request(path, { method: 'POST', key, json, headers }) ?? expect.unreachable();
}

/** Sends every kind of call: with and without a key, twice with one key at the same time, delayed, in a batch, and synchronously. */
function sendRound(round: string): Promise<readonly SentCall[]> {
  const send = async (name: string, hasKey: boolean, json: object = {}, path = 'f:enqueue'): Promise<SentCall> => {
    const input = `${round}-${name}`;
    const answer = await post(`/v1/functions/${path}`, { input, ...json }, hasKey ? input : undefined);
    return { input, hasKey, answer };
  };
  const batch = async (): Promise<readonly SentCall[]> => {
    const inputs = [`${round}-batch-1`, `${round}-batch-2`];
    const items = inputs.map((input) => ({ input, idempotencyKey: input }));
    const answer = await post('/v1/functions/f:enqueue-batch', { items });
    const bodies = answer.status === 202 ? (answer.body as { items: unknown[] }).items : inputs.map(() => answer.body);
    return inputs.map((input, at) => ({ input, hasKey: true, answer: { ...answer, body: bodies[at] } }));
  };
  const singles = [
    send('plain', false),
    send('keyed', true),
    send('twice', true),
    send('twice', true),
    send('delayed', true, { delayMs: 10 }),
    send('sync', true, {}, 'f:invoke'),
  ];
  return Promise.all([...singles.map(async (one) => [await one]), batch()]).then((sent) => sent.flat());
}

/** Sends the keyed calls that got no promise again, until all have one. Everything that was promised must be known, and run once. */
async function expectPromisesKept(sent: readonly SentCall[]): Promise<void> {
  for (const { answer } of sent) {
    expect([200, 202, 503]).toContain(answer.status);
    if (answer.status === 503) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  const promised = new Map<string, string>();
  const note = ({ input, answer }: Pick<SentCall, 'input' | 'answer'>): void => {
    const { executionId } = answer.body as { executionId?: string };
    if (answer.status < 300 && executionId !== undefined) promised.set(input, executionId);
  };
  for (const one of sent) note(one);
  for (const { input, hasKey } of sent) {
    if (!hasKey || promised.has(input)) continue;
    await eventually(async () => {
      note({ input, answer: await post('/v1/functions/f:enqueue', { input }, input) });
      expect(promised.has(input)).toBe(true);
    });
  }
  for (const [input, id] of promised) {
    await eventually(async () => {
      const found = await planes.at(-1)?.request(`/v1/executions/${id}`, { key });
      expect([input, found?.status, found?.body]).toMatchObject([input, 200, { status: 'success' }]);
    });
    expect([input, runsOf(input)]).toEqual([input, 1]);
  }
  for (const { input, answer } of sent)
    if (answer.status === 503) expect(runsOf(input)).toBeLessThanOrEqual(promised.has(input) ? 1 : 0);
}

function runsOf(input: string): number {
  return endpoint.calls('f').filter(({ body }) => body.input === input).length;
}

const statusesOf = (sent: readonly SentCall[]): readonly number[] => [
  ...new Set(sent.map(({ answer }) => answer.status)),
];

describe('a call is promised only when it is stored', () => {
  it('with a database that is frozen, slow, killed before or after it has stored the call, or stopped', async () => {
    proxy.silence();
    const frozen = await sendRound('frozen');
    expect(statusesOf(frozen)).toEqual([503]);
    await proxy.cut();
    await proxy.open();
    await expectPromisesKept(frozen);

    proxy.holdAnswers();
    const slow = await sendRound('slow');
    expect(statusesOf(slow)).toEqual([503]);
    proxy.releaseAnswers();
    await expectPromisesKept(slow);

    proxy.silence();
    const killing = sendRound('killed');
    await proxy.cut();
    expect(statusesOf(await killing)).toEqual([503]);
    const stopped = await sendRound('stopped');
    expect(statusesOf(stopped)).toEqual([503]);
    await proxy.open();
    await expectPromisesKept(await killing);
    await expectPromisesKept(stopped);

    // The rows are stored, and the connections break before the answers are read.
    proxy.holdAnswers();
    const lost = sendRound('answer-lost');
    await eventually(async () => expect(await journaledCount('answer-lost')).toBeGreaterThan(0));
    await proxy.cut();
    expect(statusesOf(await lost)).toEqual([503]);
    await proxy.open();
    await expectPromisesKept(await lost);
  });

  it('when the control plane is gone for good before it has heard that a call is stored', async () => {
    proxy.holdAnswers();
    const sending = sendRound('crash');
    await eventually(async () => expect(await journaledCount('crash')).toBeGreaterThan(0));
    await proxy.cut();
    const sent = await sending;
    expect(statusesOf(sent)).toEqual([503]);
    planes.push(await startControlPlane(test.url, environment, key));
    await expectPromisesKept(sent.filter(({ hasKey }) => hasKey));
  });
});

/** Counts rows of the journal that contain calls of the round. */
async function journaledCount(round: string): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    'select count(*) as count from drover.execution_journal where position($1 in entries) > 0',
    [round],
  );
  return row?.count ?? 0;
}
