import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFunctionsPlatform, type FunctionsPlatform } from './support/functions.js';
import './support/refusal-matcher.js';

let platform: FunctionsPlatform;
beforeAll(async () => {
  platform = await startFunctionsPlatform();
});
afterAll(() => platform?.stop());

const everySecond = { cron: '* * * * * *', input: { report: 'daily', since: null } };
const calls = (name: string) => platform.endpoint.calls(name);

describe('a function with a schedule', () => {
  it('is called at each of its times once, until the schedule is changed or the function removed', async () => {
    await platform.register('scheduled', undefined, { schedule: everySecond });
    await eventually(() => calls('scheduled').length >= 2);
    const keys = calls('scheduled').map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(keys.length);
    expect(calls('scheduled')[0]?.body).toMatchObject({
      input: everySecond.input,
      metadata: { 'drover-scheduled-time': expect.stringMatching(/T\d\d:\d\d:\d\d\.000Z$/) as unknown },
    });
    const changed = await platform.request('/v1/functions/scheduled', {
      method: 'PATCH',
      json: { schedule: { cron: '0 4 * * *', timeZone: 'Europe/Berlin' } },
    });
    expect(changed).toMatchObject({
      status: 200,
      body: { schedule: { cron: '0 4 * * *', timeZone: 'Europe/Berlin', missed: 'once', enabled: true } },
    });
    const { body } = await platform.request('/v1/executions?function=scheduled&status=success');
    expect((body as { executions: unknown[] }).executions.length).toBeGreaterThanOrEqual(1);
    const stored = await platform.database.query<{ schedule: object }>(
      `select schedule from drover.function_schedule_runs where name = 'scheduled'`,
      [],
    );
    expect(stored).toHaveLength(1);
  });

  it.each([
    [{ cron: '61 * * * *' }, /schedule\.cron has an invalid minute: 61/],
    [{ cron: '* * * * *', timeZone: 'Mars/Olympus' }, /schedule\.timeZone Mars\/Olympus is not a time zone/],
    [{ cron: '* * * * *', missed: 'never' }, /missed must be once or skip or all/],
    [{}, /required property 'cron'/],
  ])('is refused with %j', async (schedule, problem) => {
    const answer = await platform.post('/v1/functions', {
      name: 'wrong',
      endpointUrl: 'http://127.0.0.1:1/',
      schedule,
    });
    expect(answer).toBeRefusedWith(400, 'VALIDATION_ERROR');
    expect(answer.text).toMatch(problem);
  });
});
