import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ExecutionStatus } from '@drover/contracts';
import { eventually, isAlive } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { FunctionsClient, good, killRole, report } from '../support/executions.js';
import { LocalLedger } from '../support/local-ledger.js';
import { allowsLoopback, startPlatform } from '../support/platform.js';
import { RunLedger } from '../support/run-ledger.js';
import { sharedPlatform } from '../support/shared-platform.js';

// What jobs are: any program. These are modules for the Node.js that is there.
const printing = `
let text = '';
for await (const chunk of process.stdin) text += chunk;
const { input } = JSON.parse(text);
console.log(JSON.stringify({ doubled: input.n * 2, attempt: Number(process.env.DISPATCH_ATTEMPT) }));
`;
const callingBack = `
const { CALLBACK_URL, EXECUTION_ID, INVOCATION_PAYLOAD } = process.env;
const { input } = JSON.parse(INVOCATION_PAYLOAD);
const { status } = await fetch(CALLBACK_URL + '/' + EXECUTION_ID + ':complete', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ success: true, output: { called: 'back', n: input.n } }),
});
if (status !== 204) process.exit(1);
`;
/** Its first attempt goes on for ever; each says where it is. */
const endless = `
import { writeFileSync } from 'node:fs';
const { DISPATCH_ATTEMPT, PIDS } = process.env;
writeFileSync(PIDS + '/' + DISPATCH_ATTEMPT, String(process.pid));
if (DISPATCH_ATTEMPT === '1') setInterval(() => undefined, 1_000);
else console.log(JSON.stringify({ attempt: Number(DISPATCH_ATTEMPT) }));
`;

describe('executions', () => {
  const platform = sharedPlatform(async (dataDirectory, started) => {
    // The jobs of a killed platform leave their folders to the next one, which removes them when they are old: a TMPDIR of its own.
    const directory = path.join(path.dirname(dataDirectory), 'scratch');
    await mkdir(directory);
    const local = await LocalLedger.open(path.join(path.dirname(dataDirectory), 'handlers'));
    const env = {
      ...allowsLoopback,
      TMPDIR: directory,
      DROVER_HANDLERS_DIR: local.directory,
      DROVER_JOB_RUNNER: 'process',
      DROVER_FUNCTIONS_USER: 'root', // handlers and jobs write down what they did, in folders of this user
    };
    const { up, ready } = await startPlatform(dataDirectory, { env });
    started(up);
    return { up, local, directory, api: await FunctionsClient.of(ready) };
  });

  it('come from every way to ask, and each is there to be read, listed, cancelled and run again', async () => {
    const { api, local } = platform();
    const ledger = await RunLedger.open();
    try {
      await api.register({ name: 'ledger', executionMode: 'LOCAL' });
      await api.register({ name: 'pool', executionMode: 'POOL', endpointUrl: ledger.url('pool') });
      for (const name of ['ledger', 'pool']) {
        const called = good<ExecutionStatus>(await api.invoke(name, { n: 1 }), 200);
        expect(called.output).toEqual({ n: 1, attempt: 1 });
        const single = await api.accepted(name, { n: 2 });
        const batch = await api.acceptedBatch(name, [{ input: { n: 3 } }, { input: { n: 4 }, delayMs: 50 }]);
        const results = await Promise.all([single, ...batch].map((id) => api.ended(id)));
        expect(results.map(({ output }) => output)).toEqual([2, 3, 4].map((n) => ({ n, attempt: 1 })));
        const list = await api.request('GET', `/v1/executions?function=${name}&status=success`);
        expect(list.body).toMatchObject({
          executions: [batch[1], batch[0], single, called.executionId].map((executionId) => ({ executionId })),
        });
      }
      const [later = ''] = await api.acceptedBatch('pool', [{ input: {}, delayMs: 600_000 }]);
      expect(await api.request('POST', `/v1/executions/${later}:cancel`)).toMatchObject({
        status: 200,
        body: { status: 'cancelled' },
      });
      expect(ledger.runs.has(later)).toBe(false);
      const key = { 'idempotency-key': 'once' };
      const once = await api.accepted('pool', {}, key);
      expect(await api.accepted('pool', {}, key)).toBe(once);
      await api.ended(once);
      expect(await api.accepted('pool', {}, key)).toBe(once);
      expect(ledger.runs.get(once)).toHaveLength(1);
      expect([...ledger.violations, ...local.read().violations]).toEqual([]);
    } finally {
      await ledger.close();
    }
  });

  it('of programs hand their results back by printing or by calling, and leave no process when the platform is killed', async () => {
    const { api, up, directory } = platform();
    const register = async (name: string, source: string, more: object = {}): Promise<void> => {
      const file = path.join(directory, `${name}.mjs`);
      await writeFile(file, source);
      await api.register({ name, executionMode: 'REMOTE', command: [process.execPath, file], ...more });
    };
    await register('printing', printing);
    await register('calling-back', callingBack);
    const pids = path.join(directory, 'pids');
    await mkdir(pids);
    await register('endless', endless, { env: { PIDS: pids } });

    expect(await api.invoke('printing', { n: 21 })).toMatchObject({
      status: 200,
      body: { status: 'success', output: { doubled: 42, attempt: 1 } },
    });
    expect(await api.invoke('calling-back', { n: 7 })).toMatchObject({
      status: 200,
      body: { status: 'success', output: { called: 'back', n: 7 } },
    });
    const ids = [await api.accepted('printing', { n: 1 }), await api.accepted('calling-back', { n: 2 })];
    const outputs = await Promise.all(ids.map(async (id) => (await api.ended(id)).output));
    expect(outputs).toEqual([
      { doubled: 2, attempt: 1 },
      { called: 'back', n: 2 },
    ]);

    const id = await api.accepted('endless', {});
    const pid = Number(await eventually(async () => (await readFile(path.join(pids, '1'), 'utf8')) || false));
    expect(isAlive(pid)).toBe(true);
    const { killedMs, next } = killRole(up, 'platform');
    await eventually(() => !isAlive(pid));
    const goneMs = Date.now() - killedMs;
    await next();
    expect(await api.ended(id)).toMatchObject({ status: 'success', output: { attempt: 2 } });
    report('platform killed', { jobGoneMs: goneMs });
  });
});
