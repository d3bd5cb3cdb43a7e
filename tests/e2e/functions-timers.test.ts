import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { app, startRuntime, withRuntime, type Runtime } from '../support/functions.js';

interface Seen {
  readonly warmups: number;
  /** When the first timer ran, which waits for a worker. */
  readonly warmupsBefore?: number;
  readonly ticks: readonly unknown[];
  readonly starts: readonly unknown[];
  readonly events: readonly unknown[];
}

const masterKey = 'master-key-of-the-test';

describe('drover-runtime with an app of timers, pushed events and a warmup', () => {
  let runtime: Runtime;
  let topic: Server;
  const published: { readonly key: unknown; readonly body: string }[] = [];

  beforeAll(async () => {
    topic = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        published.push({ key: request.headers['aeg-sas-key'], body });
        response.end();
      });
    });
    await new Promise<void>((resolve) => void topic.listen(0, '127.0.0.1', resolve));
    runtime = await startRuntime({
      apps: [app('clockwork')],
      env: {
        TickSchedule: '* * * * * *',
        WEBSITE_TIME_ZONE: 'Romance Standard Time',
        DROVER_FUNCTIONS_MASTER_KEY: masterKey,
        DROVER_EMULATORS: 'off',
        TopicUri: `http://127.0.0.1:${(topic.address() as AddressInfo).port}/api/events`,
        TopicKey: 'topic-key',
      },
    });
  });
  afterAll(async () => {
    await runtime.stop();
    topic.closeAllConnections();
    topic.close();
  });

  const look = async (): Promise<Seen> => (await (await runtime.call('/api/seen')).json()) as Seen;
  const headers = { 'aeg-event-type': 'Notification', 'content-type': 'application/json' };

  it('warms a worker up before it takes other work, although the warmup fails', async () => {
    await eventually(async () => expect(await look()).toMatchObject({ warmups: 1, warmupsBefore: 1 }));
    expect(runtime.log.filter(({ kind }) => kind === 'worker.specialized')).toHaveLength(1);
  });

  it('runs a timer every second, without a status, and one at the start with a status', async () => {
    const { ticks, starts } = await eventually(async () => {
      const found = await look();
      expect(found.ticks.length).toBeGreaterThanOrEqual(2);
      return found;
    });
    expect(ticks[0]).toEqual({ schedule: { adjustForDST: true }, scheduleStatus: null, isPastDue: false });
    expect(starts).toEqual([
      {
        schedule: { adjustForDST: true },
        scheduleStatus: {
          last: '0001-01-01T00:00:00+00:00',
          next: expect.stringMatching(/^\d{4}-01-01T00:00:00\+01:00$/), // New Year in Paris
          lastUpdated: expect.stringMatching(/^\d{4}-.*[+]0[12]:00$/),
        },
        isPastDue: false,
      },
    ]);
  });

  it('runs a timer by hand, with the payload that a run has', async () => {
    const before = (await look()).starts.length;
    const run = await runtime.call('/admin/functions/onStart', {
      method: 'POST',
      headers: { 'x-functions-key': masterKey, 'content-type': 'application/json' },
      body: '{"input":""}',
    });
    expect(run.status).toBe(202);
    const { starts } = await eventually(async () => {
      const found = await look();
      expect(found.starts).toHaveLength(before + 1);
      return found;
    });
    expect(starts.at(-1)).toEqual({ schedule: { adjustForDST: true }, scheduleStatus: null, isPastDue: false });
  });

  it('publishes events of an output binding to a topic', async () => {
    const events = [1, 2].map((n) => ({ id: String(n), subject: 's', eventType: 't', data: { n } }));
    expect((await runtime.call('/api/publish', { method: 'POST', body: JSON.stringify(events) })).status).toBe(202);
    expect(published.map(({ key }) => key)).toEqual(['topic-key']);
    expect(JSON.parse(published[0]?.body ?? '')).toMatchObject(events);
  });

  it('says once that the state of its triggers is only in memory', () => {
    const warnings = runtime.log.filter(({ kind }) => kind === 'trigger-store.opened');
    expect(warnings.map(({ level, msg }) => [level, msg.includes('Set DATABASE_URL, or AzureWebJobsStorage')])).toEqual(
      [['warn', true]],
    );
  });

  it('takes events at its webhook, with the system key of Event Grid or the master key', async () => {
    const keys = (await (
      await runtime.call('/admin/host/systemkeys', { headers: { 'x-functions-key': masterKey } })
    ).json()) as { keys: { name: string; value: string }[] };
    const [systemKey] = keys.keys;
    expect(systemKey?.name).toBe('eventgrid_extension');
    const code = encodeURIComponent(systemKey?.value ?? '');
    const send = (query: string, body: unknown, more: Record<string, string> = {}, method = 'POST') =>
      runtime.call(`/runtime/webhooks/EventGrid?${query}`, {
        method,
        headers: { ...headers, ...more },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    const event = {
      id: '1',
      eventType: 'Order.Created',
      subject: 's',
      eventTime: '2026-01-01T00:00:00Z',
      data: { n: 5 },
    };

    expect((await send('functionName=onEvent', [event])).status).toBe(401);
    expect((await send('functionName=onEvent&code=wrong', [event])).status).toBe(401);
    expect((await send(`functionName=other&code=${code}`, [event])).status).toBe(404);
    expect((await send(`functionName=tick&code=${code}`, [event])).status).toBe(404);
    expect((await runtime.call(`/runtime/webhooks/Other?code=${code}`, { method: 'POST' })).status).toBe(404);
    expect((await send(`functionName=onEvent&code=${code}`, 'no event')).status).toBe(400);

    const validation = [{ id: '0', data: { validationCode: 'the-code' } }];
    const answer = await send(`functionName=onEvent&code=${code}`, validation, {
      'aeg-event-type': 'SubscriptionValidation',
    });
    expect([answer.status, await answer.json()]).toEqual([200, { validationResponse: 'the-code' }]);
    const origin = { 'webhook-request-origin': 'eventgrid.azure.net' };
    const options = await send(`functionName=onEvent&code=${code}`, undefined, origin, 'OPTIONS');
    expect([options.status, options.headers.get('webhook-allowed-origin')]).toEqual([200, 'eventgrid.azure.net']);

    expect((await send(`functionname=ONEVENT&code=${code}`, [event])).status).toBe(202);
    const cloudEvent = { specversion: '1.0', id: '2', source: '/shop', type: 't', data: { n: 6 } };
    const structured = { 'aeg-event-type': 'Notification', 'content-type': 'application/cloudevents+json' };
    expect((await send(`functionName=onEvent&code=${masterKey}`, cloudEvent, structured)).status).toBe(202);
    expect((await send(`functionName=onEvent&code=${code}`, [{ ...event, data: { fails: true } }])).status).toBe(500);
    expect((await look()).events).toEqual([event, cloudEvent]);
  });
});

describe('drover-runtime whose database for the state of triggers is away', () => {
  it('serves, is degraded, says once why without the password, and runs no timer', () =>
    withRuntime(
      {
        apps: [app('clockwork')],
        env: {
          TickSchedule: '* * * * * *',
          DROVER_EMULATORS: 'off',
          DATABASE_URL: 'postgres://drover:hidden@127.0.0.1:1/none',
        },
      },
      async (runtime) => {
        const health = await eventually(async () => {
          const document = (await (await runtime.call('/health')).json()) as { status: string; description: string };
          expect(document.status).toBe('degraded');
          return document;
        });
        expect(health.description).toBe('Trigger sources unavailable');
        const ready = await runtime.call('/readyz');
        expect([ready.status, await ready.json()]).toMatchObject([
          200,
          { problems: { 'trigger sources': 'unavailable: trigger-store postgresql' } },
        ]);
        expect(await (await runtime.call('/api/seen')).json()).toMatchObject({ warmups: 1, ticks: [], starts: [] });
        expect(runtime.log.filter(({ kind }) => kind === 'trigger-store.unavailable')).toHaveLength(1);
        expect(runtime.child.output).not.toContain('hidden');
      },
    ));
});
