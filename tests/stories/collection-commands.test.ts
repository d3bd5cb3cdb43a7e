import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Child } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { drover, plainEnvironment, readyLine, startUp, withDataDirectory } from '../support/platform.js';

const shop = `
name: orders
fields:
  - { name: number, type: auto_number, autoNumber: { prefix: O-, digits: 4 } }
  - { name: customer, type: lookup, references: { collection: customers } }
  - { name: status, type: picklist, values: [open, done], default: open, required: true }
  - { name: total, type: number }
---
name: customers
fields:
  - { name: name, type: string, required: true, unique: true }
  - { name: orderCount, type: rollup, rollup: { collection: orders, via: customer, function: COUNT } }
`;

/** A program of a user, written against the generated client. */
const program = `
import { createRecordsClient, type RecordsError } from './records.js';

declare const process: { readonly env: Readonly<Record<string, string>> };
const { DROVER_URL: url = '', DROVER_API_KEY: apiKey = '' } = process.env;
const records = createRecordsClient({ url, apiKey });
const failure = (error: RecordsError) => [error.status, error.errors[0]?.code];
const ann = await records.customers.create({ name: 'Ann' }, { idempotencyKey: 'once' });
const same = await records.customers.create({ name: 'Ann' }, { idempotencyKey: 'once' });
const upserted = await records.customers.upsert({ name: 'Ann' }, 'name');
const [first, second] = await records.orders.createAll([{ customer: ann.id, total: 5 }, { total: 9, status: 'done' }]);
if (!first || !second) throw new Error('no orders');
const changed = await records.orders.update(first.id, { total: 6 }, { version: first.version });
const stale = await records.orders.update(first.id, { total: 7 }, { version: first.version }).catch(failure);
const page = await records.orders.list({
  filter: { or: [{ total: { between: [6, 7] } }, { 'customer.name': { starts: 'B' } }] },
  sort: ['-total'],
  include: ['customer'],
  count: 'exact',
});
const customer = await records.customers.get(ann.id, { include: ['orders'] });
const totals: (number | null)[] = [];
for await (const { total } of records.orders.all({ size: 1, sort: ['total'] })) totals.push(total);
const replaced = await records.orders.replace(second.id, { status: 'open' });
await records.orders.delete(second.id);
const gone = await records.orders.get(second.id).catch(failure);
console.log(
  JSON.stringify({
    ids: [same.id === ann.id, upserted.id === ann.id],
    numbers: [first.number, second.number],
    changed: changed.total,
    stale,
    page: [page.total, page.records.map(({ customer: of }) => of?.name)],
    customer: [customer.orderCount, customer.orders.map(({ number }) => number)],
    totals,
    replaced: replaced.total,
    gone,
  }),
);
`;

const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  target: 'es2022',
  module: 'nodenext',
  lib: ['es2023', 'dom', 'dom.iterable'],
  types: [],
};

/** Runs a command against the platform of a data directory. */
async function run(directory: string, ...argv: readonly string[]) {
  const command = new Child(process.execPath, [drover, ...argv, '--data-dir', directory], { env: plainEnvironment() });
  const { code } = await command.exited;
  return { code, printed: command.stdout.join('\n'), output: command.output };
}

/** Compiles the program with the client that the platform has for it, and runs it. */
async function runProgram(project: string, directory: string): Promise<unknown> {
  await mkdir(project);
  const write = (name: string, text: string) => writeFile(path.join(project, name), text);
  await write('package.json', '{"type":"module"}');
  await write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  await write('records.ts', (await run(directory, 'collections', 'client')).printed);
  await write('program.ts', program);
  await promisify(execFile)(path.join(root, 'node_modules/.bin/tsc'), ['-p', project]);
  const credentials = await readFile(path.join(directory, 'credentials.json'), 'utf8');
  const { url, apiKey } = JSON.parse(credentials) as { readonly url: string; readonly apiKey: string };
  const env = plainEnvironment({ DROVER_URL: url, DROVER_API_KEY: apiKey });
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(project, 'program.js')], { env });
  return JSON.parse(stdout);
}

describe('collections on the command line', () => {
  it('are applied from a file, used with a generated client and a limited key, changed, and deleted', () =>
    withDataDirectory(async (directory, started) => {
      const { urls } = await readyLine(started(startUp(directory, { args: ['--json'] })));
      const scratch = path.dirname(directory);
      const file = path.join(scratch, 'shop.yaml');
      await writeFile(file, shop);
      const drove = (...argv: readonly string[]) => run(directory, 'collections', ...argv);

      expect(await drove('apply', file)).toMatchObject({ code: 1, output: expect.stringContaining('--yes') });
      expect((await drove('list')).printed).toBe('');
      expect((await drove('apply', file, '--yes')).printed).toContain('The collection orders has version 1.');
      expect((await drove('plan', file)).printed).toBe('2 collections unchanged.');

      expect(await runProgram(path.join(scratch, 'program'), directory)).toEqual({
        ids: [true, true],
        numbers: ['O-0001', 'O-0002'],
        changed: 6,
        stale: [412, expect.any(String)],
        page: [1, ['Ann']],
        customer: [1, ['O-0001']],
        totals: [6, 9],
        replaced: null,
        gone: [404, expect.any(String)],
      });

      const limited = await run(directory, 'keys', 'create', 'reader', '--scope', 'records:read:orders');
      const ask = (address: string, init: RequestInit = {}) =>
        fetch(`${urls.public}${address}`, { ...init, headers: { authorization: `Bearer ${limited.printed}` } });
      expect((await ask('/api/orders')).status).toBe(200);
      expect((await ask('/api/customers')).status).toBe(403);
      expect((await ask('/api/orders', { method: 'DELETE' })).status).toBeGreaterThanOrEqual(400);
      expect((await ask('/api/orders?include=customer')).status).toBe(403);
      const { paths } = (await (await ask('/api/openapi.json')).json()) as { readonly paths: object };
      expect(Object.keys(paths)).toContain('/api/orders/{id}');
      expect(Object.keys(paths)).not.toContain('/api/customers/{id}');

      await writeFile(
        file,
        shop.replace('name: total, type: number', 'name: amount, type: integer, formerName: total'),
      );
      expect((await drove('plan', file)).printed).toContain('Rename field "total" to "amount"');
      expect((await drove('apply', file, '--yes')).printed).toContain('The collection orders has version 2.');
      const { data } = (await (await ask('/api/orders?shape=flat')).json()) as { readonly data: readonly object[] };
      expect(data).toMatchObject([{ amount: 6 }]);
      await writeFile(
        file,
        shop
          .replace('type: number }', 'type: number, required: true }')
          .replace('[open, done], default: open', '[done]'),
      );
      const refused = await drove('plan', file);
      expect(refused.code).toBe(1);
      expect(refused.printed).toMatch(/refused: .*1 record/);

      expect((await drove('delete', 'customers', '--yes')).output).toContain('"orders" refers to it');
      expect((await drove('versions', 'orders')).printed.split('\n')).toHaveLength(2);
    }));
});
