import type { FailedChangeView, RecordWebhook, WebhookDelivery } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { runAnswered } from './answered-program.test.fixture.js';

const id = '01890000-0000-7000-8000-000000000001';
const webhook: RecordWebhook = {
  id,
  collection: 'orders',
  url: 'https://example.com/hook',
  events: ['created', 'updated'],
  active: true,
  createdAt: '2030-01-01T00:00:00.000Z',
  createdBy: 'key',
};
const delivery: WebhookDelivery = {
  position: '7',
  recordId: id,
  state: 'failed',
  attempts: 12,
  problem: 'answered 503',
};
const failedChange: FailedChangeView = {
  id: '3',
  state: 'failed',
  application: 'shop',
  function: 'bill',
  collection: 'orders',
  recordId: id,
  position: '9',
  kind: 'created',
  reason: 'no such printer\n  at print',
  deliveries: 5,
  failedAt: '2030-01-02T00:00:00.000Z',
};

function answerTo(request: string): unknown {
  if (request === 'GET /control/webhooks') return { webhooks: [webhook] };
  if (request.includes('/deliveries?')) return { deliveries: [delivery] };
  if (request.endsWith('/secret'))
    return { ...webhook, secret: 'whsec_new', formerSecretUntil: '2030-01-03T00:00:00.000Z' };
  if (request === 'POST /control/webhooks') return { ...webhook, secret: 'whsec_first' };
  if (request.startsWith('GET /control/failed-changes?')) return { failedChanges: [failedChange] };
  if (request.startsWith('GET /control/failed-changes/')) return { ...failedChange, change: { after: { n: 1 } } };
  if (request.endsWith(':replay')) return { replaying: 2 };
  if (request.endsWith(':drop')) return { dropped: 1 };
  return { ...webhook, active: false };
}

function statusOf(request: string): number {
  if (request.startsWith('DELETE')) return 204;
  if (request === 'POST /control/webhooks') return 201;
  return request.endsWith('/retry') || request.endsWith(':replay') ? 202 : 200;
}

/** Runs a command line against a platform with one webhook and one failed change. */
const run = (...argv: string[]) =>
  runAnswered(argv, (request) => {
    const isEmpty = request.startsWith('DELETE') || request.endsWith('/retry');
    return { status: statusOf(request), body: isEmpty ? undefined : answerTo(request) };
  });

describe('drover webhooks', () => {
  it('lists, changes and deletes webhooks', async () => {
    const { stdout } = await run('webhooks', 'list');
    expect(stdout).toBe(`${id}  orders  created, updated  on  https://example.com/hook\n`);
    const changed = await run('webhooks', 'change', id, '--off', '--event', 'deleted');
    expect([changed.asked, changed.bodies]).toEqual([
      [`PATCH /control/webhooks/${id}`],
      [{ active: false, events: ['deleted'] }],
    ]);
    expect(changed.stdout).toBe(`The webhook ${id} is off and sends to https://example.com/hook.\n`);
    expect((await run('webhooks', 'delete', id)).asked).toEqual([`DELETE /control/webhooks/${id}`]);
  });

  it('prints a new secret alone on standard output, and how long the former one is valid', async () => {
    const created = await run('webhooks', 'create', 'orders', 'https://example.com/hook', '--event', 'created');
    expect(created.bodies).toEqual([{ collection: 'orders', url: 'https://example.com/hook', events: ['created'] }]);
    expect(created.stdout).toBe('whsec_first\n');
    const rotated = await run('webhooks', 'rotate', id, '--overlap-hours', '48');
    expect([rotated.asked, rotated.bodies]).toEqual([
      [`POST /control/webhooks/${id}/secret`],
      [{ overlapMs: 172_800_000 }],
    ]);
    expect(rotated.stdout).toBe('whsec_new\n');
    expect(rotated.stderr).toContain('both secrets until 2030-01-03T00:00:00.000Z');
  });

  it('lists deliveries and sends one again', async () => {
    const listed = await run('webhooks', 'deliveries', id, '--state', 'failed');
    expect(listed.asked).toEqual([`GET /control/webhooks/${id}/deliveries?limit=50&state=failed`]);
    expect(listed.stdout).toBe(`7  failed  12 attempts  ${id}    answered 503\n`);
    const retried = await run('webhooks', 'retry', id, '7');
    expect(retried.asked).toEqual([`POST /control/webhooks/${id}/deliveries/7/retry`]);
    expect(retried.stdout).toBe('The change 7 is sent again.\n');
  });

  it('refuses what does not exist before it asks the platform', async () => {
    for (const argv of [
      ['change', id],
      ['change', id, '--on', '--off'],
      ['create', 'orders', 'https://example.com', '--event', 'made'],
      ['deliveries', id, '--state', 'lost'],
    ]) {
      const { asked, stderr, exitCode } = await run('webhooks', ...argv);
      expect([asked, exitCode]).toEqual([[], 1]);
      expect(stderr).toMatch(/Use .*\.\n$/);
    }
  });
});

describe('drover failed-changes', () => {
  it('lists and shows what functions gave up', async () => {
    const { stdout, asked } = await run('failed-changes', 'list', '--function', 'bill', '--app', 'shop');
    expect(asked).toEqual(['GET /control/failed-changes?limit=50&application=shop&function=bill']);
    expect(stdout).toBe(
      `3  failed  shop/bill  created orders ${id}  5 runs  2030-01-02T00:00:00.000Z  no such printer\n`,
    );
    const shown = await run('failed-changes', 'show', '3');
    expect(JSON.parse(shown.stdout)).toMatchObject({ id: '3', change: { after: { n: 1 } } });
  });

  it('replays and drops those that are named or match, and never all without being asked', async () => {
    const replayed = await run('failed-changes', 'replay', '3', '4');
    expect([replayed.bodies, replayed.stdout]).toEqual([[{ ids: ['3', '4'] }], '2 changes will be delivered again.\n']);
    const dropped = await run('failed-changes', 'drop', '--collection', 'orders');
    expect([dropped.bodies, dropped.stdout]).toEqual([[{ collection: 'orders' }], '1 change dropped.\n']);
    expect((await run('failed-changes', 'replay', '--all')).bodies).toEqual([{ all: true }]);
    const none = await run('failed-changes', 'drop');
    expect([none.asked, none.exitCode]).toEqual([[], 1]);
  });
});
