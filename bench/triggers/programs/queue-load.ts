import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  generateAccountSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-queue';
import { Pool } from 'undici';
import { sharedNowMs } from '../../harness/clock.js';
import { serveRequests } from '../../harness/program.js';
import type { LoadAnswer } from './sdk-load.js';

export interface QueueLoadRequest {
  readonly connectionString: string;
  /** Another one in every round. */
  readonly queue: string;
  readonly count: number;
}

const hourMs = 3_600_000;
const text = Buffer.from(JSON.stringify({ id: 4711, customer: 'c-0815', total: 129.5 })).toString('base64');
const message = `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`;

/** A queue over bare HTTP. The SDK needs most of a millisecond per request: it, not the emulator, would be measured. */
class RawQueue {
  readonly #pool: Pool;
  readonly #path: string;
  readonly #token: string;

  constructor(connectionString: string, queue: string) {
    const [, name = '', key = '', endpoint = ''] =
      /AccountName=([^;]+);AccountKey=([^;]+);.*QueueEndpoint=([^;]+)/.exec(connectionString) ?? [];
    const url = new URL(endpoint);
    this.#pool = new Pool(url.origin, { connections: 16 });
    this.#path = `${url.pathname.replace(/\/$/, '')}/${queue}`;
    const options = {
      expiresOn: new Date(Date.now() + hourMs),
      permissions: AccountSASPermissions.parse('rwdlacup'),
      services: AccountSASServices.parse('q').toString(),
      resourceTypes: AccountSASResourceTypes.parse('sco').toString(),
    };
    this.#token = generateAccountSASQueryParameters(options, new StorageSharedKeyCredential(name, key)).toString();
  }

  create(): Promise<string> {
    return this.#request('PUT', '');
  }

  send(): Promise<string> {
    return this.#request('POST', '/messages', '', message);
  }

  /** Receives up to 32 messages and deletes each. Returns their number. */
  async receiveAndDelete(): Promise<number> {
    const answer = await this.#request('GET', '/messages', 'numofmessages=32&');
    const found = [...answer.matchAll(/<MessageId>([^<]+)<.*?<PopReceipt>([^<]+)</gs)];
    await Promise.all(
      found.map(([, id, receipt = '']) =>
        this.#request('DELETE', `/messages/${id}`, `popreceipt=${encodeURIComponent(receipt)}&`),
      ),
    );
    return found.length;
  }

  async delete(): Promise<void> {
    await this.#request('DELETE', '');
    await this.#pool.close();
  }

  async #request(method: 'PUT' | 'POST' | 'GET' | 'DELETE', path: string, query = '', body?: string): Promise<string> {
    const answer = await this.#pool.request({
      method,
      path: `${this.#path}${path}?${query}${this.#token}`,
      ...(body !== undefined && { body, headers: { 'content-type': 'application/xml' } }),
    });
    const content = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${content}`);
    return content;
  }
}

/** 32 callers that send one message each, then 8 that receive 32 at a time and delete each. */
serveRequests<QueueLoadRequest>(async ({ connectionString, queue: name, count }): Promise<LoadAnswer> => {
  const queue = new RawQueue(connectionString, name);
  await queue.create();
  const startedMs = sharedNowMs();
  let sent = 0;
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      while (sent++ < count) await queue.send();
    }),
  );
  let deleted = 0;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (deleted < count) {
        const batch = await queue.receiveAndDelete();
        deleted += batch; // not in one expression: it would read the sum before the wait
      }
    }),
  );
  const endedMs = sharedNowMs();
  await queue.delete();
  return { startedMs, endedMs };
});
