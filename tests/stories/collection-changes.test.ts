import { readFile } from 'node:fs/promises';
import type { CollectionDefinition, FieldDefinition, StorageMode } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { startPlatform } from '../support/platform.js';
import { sharedPlatform } from '../support/shared-platform.js';

interface Answer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of any shape
  readonly body: any;
}
type Call = (method: string, path: string, body?: unknown) => Promise<Answer>;

/** 200 requests per second over both storage modes. */
const intervalMs = 5;
/** Requests that wait for an answer at a time, at most. */
const mostRunning = 40;

/**
 * Requests of clients at a steady rate, and what was acknowledged. A machine that is too slow for the rate sends them later: no request
 * of the rate is left out.
 */
class Clients {
  readonly #call: Call;
  readonly #names: readonly string[];
  readonly #running = new Set<Promise<void>>();
  /** Last acknowledged quantity by path. */
  readonly acknowledged = new Map<string, number>();
  readonly failures: string[] = [];
  readonly #startedMs = performance.now();
  #sent = 0;
  #answered = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(call: Call, names: readonly string[]) {
    this.#call = call;
    this.#names = names;
    this.#timer = setInterval(() => this.#sendUpTo(this.#due), intervalMs);
  }

  get answered(): number {
    return this.#answered;
  }

  /** Requests that the rate has had since the start. */
  get #due(): number {
    return Math.floor((performance.now() - this.#startedMs) / intervalMs);
  }

  /** Ends the load when all requests of its rate until now are answered. Returns how many these are. */
  async stop(): Promise<number> {
    clearInterval(this.#timer);
    const due = this.#due;
    while (this.#sent < due) {
      this.#sendUpTo(due);
      await Promise.race(this.#running);
    }
    await Promise.all(this.#running);
    return due;
  }

  #sendUpTo(due: number): void {
    while (this.#sent < due && this.#running.size < mostRunning) {
      const request = this.#request()
        .then(() => void (this.#answered += 1))
        .catch((error: unknown) => void this.failures.push(String(error)));
      this.#running.add(request);
      void request.finally(() => this.#running.delete(request));
    }
  }

  async #request(): Promise<void> {
    this.#sent += 1;
    const number = this.#sent;
    const name = this.#names[number % this.#names.length] ?? '';
    const turn = Math.floor(number / this.#names.length) % 4;
    const paths = [...this.acknowledged.keys()];
    const path = paths[number % Math.max(1, paths.length)];
    if (turn === 0 || path === undefined) {
      const { id } = (await this.#succeed('POST', `/api/${name}`, { number: `n${number}`, quantity: number })).body
        .data;
      this.acknowledged.set(`/api/${name}/${id}`, number);
    } else if (turn === 1) {
      // No other request changes it meanwhile.
      this.acknowledged.delete(path);
      await this.#succeed('PATCH', path, { quantity: number });
      this.acknowledged.set(path, number);
    } else if (turn === 2) {
      await this.#succeed('GET', path);
    } else {
      await this.#succeed('GET', `/api/${name}?filter[quantity][gte]=${number - 20}&sort=-quantity&page[size]=5`);
    }
  }

  async #succeed(method: string, path: string, body?: unknown): Promise<Answer> {
    const answer = await this.#call(method, path, body);
    if (answer.status >= 300) this.failures.push(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }
}

describe('a change of a definition (UC-5)', () => {
  const platform = sharedPlatform(async (directory, started) => {
    const { up, ready } = await startPlatform(directory);
    started(up);
    const { apiKey } = JSON.parse(await readFile(ready.credentialsFile, 'utf8')) as { apiKey: string };
    const call: Call = async (method, path, body) => {
      const response = await fetch(new URL(path, ready.urls.public), {
        method,
        headers: {
          authorization: `Bearer ${apiKey}`,
          accept: 'application/vnd.api+json',
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
    };
    return { call };
  });

  const number: FieldDefinition = { name: 'number', type: 'STRING', unique: true };
  const quantity: FieldDefinition = { name: 'quantity', type: 'INTEGER', indexed: true };
  const note: FieldDefinition = { name: 'note', type: 'STRING' };
  const region: FieldDefinition = { name: 'region', type: 'STRING', required: true, default: 'north', indexed: true };
  const versions: readonly Omit<CollectionDefinition, 'name'>[] = [
    { fields: [number, quantity, note, region] },
    { fields: [number, quantity, { ...note, name: 'remark', formerName: 'note', searchable: true }, region] },
    { fields: [number, { ...quantity, type: 'DOUBLE' }, region], uniqueSets: [['number', 'region']] },
  ];

  it('fails no request of 200 per second in both storage modes, and keeps every value', async () => {
    const { call } = platform();
    const modes: readonly StorageMode[] = ['PHYSICAL_TABLE', 'JSONB'];
    const nameOf = (storageMode: StorageMode): string => `orders-${storageMode.toLowerCase()}`;
    for (const storageMode of modes) {
      const definition = { name: nameOf(storageMode), storageMode, fields: [number, quantity, note] };
      expect((await call('POST', '/control/collections', definition)).status).toBe(201);
      const records = Array.from({ length: 500 }, (_, index) => ({ quantity: -1, note: `${index}` }));
      expect((await call('POST', `/api/${definition.name}`, records)).status).toBe(201);
    }
    const clients = new Clients(call, modes.map(nameOf));
    for (const fields of versions) {
      for (const storageMode of modes) {
        const name = nameOf(storageMode);
        const changed = await call('PUT', `/control/collections/${name}`, { name, storageMode, ...fields });
        expect(changed.status).toBe(200);
      }
    }
    const due = await clients.stop();
    expect(clients.failures).toEqual([]);
    expect(clients.answered).toBe(due);
    for (const [path, acknowledged] of clients.acknowledged) {
      const { attributes } = (await call('GET', path)).body.data;
      expect([path, attributes.quantity, attributes.region]).toEqual([path, acknowledged, 'north']);
    }
    for (const storageMode of modes) {
      const seeded = await call(
        'GET',
        `/api/${nameOf(storageMode)}?filter[quantity][eq]=-1&filter[region][eq]=north&page[number]=1&page[size]=1&count=exact`,
      );
      expect(seeded.body.meta).toMatchObject({ total: 500 });
      const all = await call('GET', `/control/collections/${nameOf(storageMode)}/versions`);
      expect(all.body.versions.map(({ version }: { version: number }) => version)).toEqual([4, 3, 2, 1]);
    }
  });

  it('is refused with the reason and the number of records in the way', async () => {
    const { call } = platform();
    const name = 'tickets';
    await call('POST', '/control/collections', { name, fields: [{ name: 'code', type: 'STRING' }] });
    await call('POST', `/api/${name}`, [{ code: '1' }, { code: 'two' }, { code: 'two' }]);
    const refused = await call('PUT', `/control/collections/${name}`, {
      name,
      fields: [{ name: 'code', type: 'INTEGER', unique: true }],
    });
    expect(refused.status).toBe(409);
    expect(JSON.stringify(refused.body)).toContain('2 records have a value that would be lost');
    expect((await call('GET', `/control/collections/${name}`)).body.version).toBe(1);
  });
});
