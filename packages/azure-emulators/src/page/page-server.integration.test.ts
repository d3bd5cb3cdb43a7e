import http from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EntityConsole, TypedMessage } from '../entity-console.js';
import { startEmulatorsPage, type EmulatorsPage } from './page-server.js';

const script = '<script>alert(1)</script>';

/** A console of one queue that remembers what was done with it. */
class RecordingConsole implements EntityConsole {
  readonly sent: TypedMessage[] = [];
  readonly done: string[] = [];

  entities(): ReturnType<EntityConsole['entities']> {
    const counts = { depth: this.sent.length, inFlight: 0, scheduled: 0, deadLetters: 1 };
    return [{ service: 'queues', kind: 'queue', name: 'orders', ...counts }];
  }

  async peek(entity: string, options: Parameters<EntityConsole['peek']>[1]): ReturnType<EntityConsole['peek']> {
    if (entity !== 'orders') throw new Error(`The queue ${entity} does not exist.`);
    const message = { state: 'active', enqueuedMs: 0, deliveryCount: 0, isCut: false, properties: {} } as const;
    return Array.from({ length: options.max }, (_, index) => ({ ...message, id: String(index), body: script }));
  }

  async send(_entity: string, message: TypedMessage): Promise<void> {
    this.sent.push(message);
  }

  async requeue(): Promise<number> {
    this.done.push('requeue');
    return 3;
  }

  async purge(_entity: string, { deadLetters }: { readonly deadLetters: boolean }): Promise<number> {
    this.done.push(deadLetters ? 'purge dead letters' : 'purge');
    return 2;
  }
}

describe('the page of the emulators', () => {
  const console = new RecordingConsole();
  let page: EmulatorsPage;
  beforeAll(async () => {
    const shown = {
      status: () => console.entities(),
      consoles: new Map([['queues', console]]),
      certificate: 'CERTIFICATE',
      storage: [],
      connectionStrings: { serviceBus: undefined, eventHubs: undefined, storage: 'UseDevelopmentStorage=true' },
    };
    page = await startEmulatorsPage(() => [shown], 0);
  });
  afterAll(() => page.stop());

  const change = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${page.url}api/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const orders = { service: 'queues', entity: 'orders' };

  it('hands out the certificate that clients of TLS must trust', async () => {
    expect(await (await fetch(`${page.url}certificate.pem`)).text()).toBe('CERTIFICATE');
  });

  it('needs nothing from elsewhere, and lets no other content run', async () => {
    const response = await fetch(page.url);
    expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    const html = await response.text();
    expect(html).not.toMatch(/https?:\/\//);
    for (const [, asset = ''] of html.matchAll(/(?:src|href)="(page\.\w+)"/g)) {
      const text = await (await fetch(page.url + asset)).text();
      expect(text).not.toMatch(/https?:\/\/|innerHTML|insertAdjacentHTML|document\.write|eval\(/);
    }
  });

  it('lists entities, and messages page by page as data, not as markup', async () => {
    expect(await (await fetch(`${page.url}api/entities`)).json()).toEqual({
      entities: console.entities(),
      connections: ['Storage  UseDevelopmentStorage=true'],
    });
    const response = await fetch(`${page.url}api/messages?service=queues&entity=orders&deadLetters=true&after=7`);
    expect(response.headers.get('content-type')).toContain('application/json');
    const { messages, isMore } = (await response.json()) as { messages: { body: string }[]; isMore: boolean };
    expect(messages).toHaveLength(50);
    expect(isMore).toBe(true);
    expect(messages[0]?.body).toBe(script);
  });

  it('sends, requeues and purges', async () => {
    const message = { body: 'hello', contentType: 'text/plain', sessionId: 's', properties: { kind: 'test' } };
    expect((await change('send', { ...orders, message })).status).toBe(200);
    expect(console.sent).toEqual([message]);
    expect(await (await change('requeue', orders)).json()).toEqual({ count: 3 });
    expect(await (await change('purge', { ...orders, deadLetters: true })).json()).toEqual({ count: 2 });
    expect(await (await change('purge', orders)).json()).toEqual({ count: 2 });
    expect(console.done).toEqual(['requeue', 'purge dead letters', 'purge']);
  });

  it.each([
    ['send', { ...orders, message: { body: 7 } }, 400, '"body" must be a string.'],
    ['send', { ...orders, message: 'hello' }, 400, 'The message must be an object.'],
    ['purge', 'no JSON', 400, 'The body must be a JSON object.'],
    ['requeue', { service: 'tapes', entity: 'orders' }, 404, 'The service "tapes" does not run.'],
    ['explode', orders, 404, 'POST /api/explode does not exist.'],
    ['send', `{"body":"${'x'.repeat(1_100_000)}"}`, 413, 'larger than'],
  ])('answers %s with a mistake by its reason', async (path, body, status, reason) => {
    const response = await change(path, body);
    expect(response.status).toBe(status);
    expect(((await response.json()) as { error: string }).error).toContain(reason);
  });

  it('answers neither another site nor another name that points to this machine', async () => {
    const before = console.done.length;
    expect((await change('purge', orders, { origin: 'https://attacker.example' })).status).toBe(403);
    expect((await change('purge', orders, { 'content-type': 'text/plain' })).status).toBe(403);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const { port } = new URL(page.url);
      http
        .get({ host: '127.0.0.1', port, path: '/api/entities', headers: { host: 'attacker.example' } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
        .once('error', reject);
    });
    expect(status).toBe(403);
    expect(console.done).toHaveLength(before);
  });
});
