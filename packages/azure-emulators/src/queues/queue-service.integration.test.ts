import { request } from 'node:http';
import path from 'node:path';
import { QueueSASPermissions, QueueServiceClient, StorageSharedKeyCredential } from '@azure/storage-queue';
import { Child, eventually, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { developmentAccount } from './authorize.js';
import { QueueService, type QueueServiceOptions } from './queue-service.js';

const key = new StorageSharedKeyCredential(developmentAccount.name, developmentAccount.key);
const clientOf = (port: number): QueueServiceClient =>
  new QueueServiceClient(`http://127.0.0.1:${port}/${developmentAccount.name}`, key, { retryOptions: { maxTries: 1 } });

async function withService<T>(
  options: QueueServiceOptions,
  use: (service: QueueService, client: QueueServiceClient) => Promise<T>,
): Promise<T> {
  const service = await QueueService.start(options);
  try {
    return await use(service, clientOf(service.port));
  } finally {
    await service.stop();
  }
}

describe('the queue service', () => {
  it('creates the queues of its configuration, and refuses names that none can have', () =>
    withService({ queues: ['orders', 'orders-poison'] }, async (_service, client) => {
      const names = [];
      for await (const { name } of client.listQueues()) names.push(name);
      expect(names).toEqual(['orders', 'orders-poison']);
      await expect(QueueService.start({ queues: ['Not a name'] })).rejects.toMatchObject({
        code: 'InvalidResourceName',
      });
    }));

  it('refuses a message whose XML is broken', () =>
    withService({ queues: ['orders'] }, async (_service, client) => {
      const permissions = QueueSASPermissions.parse('a');
      const url = client
        .getQueueClient('orders')
        .generateSasUrl({ permissions, expiresOn: new Date(Date.now() + 60_000) });
      const response = await fetch(url.replace('?', '/messages?'), { method: 'POST', body: '<QueueMessage>' });
      expect([response.status, response.headers.get('x-ms-error-code')]).toEqual([400, 'InvalidXmlDocument']);
    }));

  it('rejects the start on a port that is taken', () =>
    withService({}, async ({ port }) => {
      await expect(QueueService.start({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    }));

  it('answers requests of any version of the API, and names the version', () =>
    withService({ queues: ['orders'] }, async ({ port }) => {
      const sas = `?sv=2099-12-31&sig=x`;
      const response = await raw(port, 'GET', `/devstoreaccount1/orders/messages${sas}`, {
        'x-ms-version': '2099-12-31',
      });
      expect(response).toMatchObject({ status: 403, version: '2099-12-31' });
    }));

  it.each([
    ['PATCH', '/devstoreaccount1/orders', 405, 'UnsupportedHttpVerb'],
    ['GET', '/devstoreaccount1/orders/other', 400, 'InvalidQueryParameterValue'],
    ['GET', '/devstoreaccount1/%zz', 400, 'InvalidUri'],
    ['GET', '/', 400, 'InvalidQueryParameterValue'],
    ['GET', '/nobody?comp=list', 404, 'ResourceNotFound'],
  ])('%s %s is refused with a reason', (method, target, status, code) =>
    withService({ queues: ['orders'] }, async ({ port }) => {
      expect(await raw(port, method, target)).toMatchObject({
        status,
        code,
        body: expect.stringContaining(`<Code>${code}</Code>`),
      });
    }),
  );

  it('refuses a header that is no signature, and takes a shared key lite', () =>
    withService({ queues: ['orders'] }, async ({ port }) => {
      const target = '/devstoreaccount1/orders?comp=metadata';
      expect(await raw(port, 'GET', target, { authorization: 'Bearer token' })).toMatchObject({
        status: 400,
        code: 'InvalidAuthenticationInfo',
      });
      const date = new Date().toUTCString();
      const text = `GET\n\n\n\nx-ms-date:${date}\nx-ms-version:2020-01-01\n/devstoreaccount1/devstoreaccount1/orders?comp=metadata`;
      const authorization = `SharedKeyLite devstoreaccount1:${key.computeHMACSHA256(text)}`;
      const headers = { authorization, 'x-ms-date': date, 'x-ms-version': '2020-01-01' };
      expect(await raw(port, 'GET', target, headers)).toMatchObject({ status: 200 });
    }));

  it('refuses a body that no message can need, and goes on', () =>
    withService({ queues: ['orders'] }, async ({ port }, client) => {
      const response = await raw(port, 'POST', '/devstoreaccount1/orders/messages', {}, Buffer.alloc(2_000_000, 'x'));
      expect(response).toMatchObject({ status: 413, code: 'RequestBodyTooLarge' });
      await client.getQueueClient('orders').sendMessage('small');
    }));

  it('refuses messages beyond its bound of memory with a reason that SDKs show at once', () =>
    withService({ queues: ['orders'], maxBytes: 1_000 }, async (_service, client) => {
      const queue = client.getQueueClient('orders');
      await queue.sendMessage('x'.repeat(400));
      await expect(queue.sendMessage('x'.repeat(400))).rejects.toMatchObject({
        statusCode: 507,
        code: 'EmulatorMemoryLimitReached',
        message: expect.stringContaining('start it with a higher limit'),
      });
      await queue.clearMessages();
      await queue.sendMessage('x'.repeat(400));
    }));
});

describe('a durable queue service', () => {
  it('has everything that it accepted after kill -9, leases and receipts included', () =>
    withScratchDirectory(async (directory) => {
      const program = path.resolve(import.meta.dirname, '../../dist/queues/testing/queue-service-process.js');
      const start = async () => {
        const child = new Child(process.execPath, [program, directory], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
        const line = await child.line(/^port \d+$/);
        return { child, queue: clientOf(Number(line.slice(5))).getQueueClient('orders') };
      };
      const first = await start();
      await first.queue.create();
      const accepted: string[] = [];
      const send = async (sender: number): Promise<void> => {
        for (let n = 0; ; n += 1) {
          await first.queue.sendMessage(`${sender}-${n}`);
          accepted.push(`${sender}-${n}`);
        }
      };
      const senders = Array.from({ length: 8 }, (_, sender) => send(sender).catch(() => undefined));
      await eventually(() => accepted.length > 100);
      const [leased] = (await first.queue.receiveMessages({ visibilityTimeout: 600 })).receivedMessageItems;
      first.child.kill('SIGKILL');
      await Promise.all([first.child.exited, ...senders]);
      const second = await start();
      const found: string[] = [];
      for (;;) {
        const { receivedMessageItems } = await second.queue.receiveMessages({ numberOfMessages: 32 });
        if (receivedMessageItems.length === 0) break;
        found.push(...receivedMessageItems.map(({ messageText }) => messageText));
      }
      expect(found).not.toContain(leased?.messageText);
      expect(accepted.filter((text) => !found.includes(text))).toEqual([leased?.messageText]);
      await second.queue.deleteMessage(leased?.messageId ?? '', leased?.popReceipt ?? '');
      await second.child.end();
    }));

  it.skipIf(process.platform === 'win32')(
    'refuses changes on a full disk with a reason, and recovers when there is room',
    () =>
      withScratchDirectory(async (directory) => {
        const program = path.resolve(import.meta.dirname, '../../dist/queues/testing/queue-service-process.js');
        // No file may grow beyond 64 KiB: the journal fails as on a full disk. The snapshot of an empty queue fits.
        const limited = `ulimit -f 128; exec "$0" "$@"`;
        const child = new Child('sh', ['-c', limited, process.execPath, program, directory], {
          stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
        });
        const queue = clientOf(Number((await child.line(/^port \d+$/)).slice(5))).getQueueClient('orders');
        await queue.create();
        await queue.setMetadata({ team: 'a' });
        const cycle = async (): Promise<void> => {
          const { messageId, popReceipt } = await queue.sendMessage('x'.repeat(4_000));
          await queue.deleteMessage(messageId, popReceipt);
        };
        const refusal: unknown = await (async () => {
          for (;;) await cycle();
        })().catch((error: unknown) => error);
        expect(refusal).toMatchObject({
          statusCode: 507,
          code: 'EmulatorDiskRefusesWrites',
          message: expect.stringMatching(/EFBIG.*free space there, and repeat the request/),
        });
        expect((await queue.getProperties()).metadata).toEqual({ team: 'a' });
        await eventually(cycle);
        await child.end();
      }),
  );

  it('refuses a second service on its directory, and names the process that has it', () =>
    withScratchDirectory((dataDirectory) =>
      withService({ dataDirectory }, async () => {
        await expect(QueueService.start({ dataDirectory })).rejects.toMatchObject({ code: 'JOURNAL_LOCKED' });
      }),
    ));
});

describe('the console of the queue service', () => {
  it('shows, sends, requeues and purges', () =>
    withService({ queues: ['orders', 'orders-poison'] }, async ({ console: page }, client) => {
      await page.send('orders', { body: '{"id":1}' });
      await page.send('orders', { body: 'plain', properties: { encoding: 'none' } });
      const queue = client.getQueueClient('orders');
      await queue.sendMessage('later', { visibilityTimeout: 100 });
      const [received] = (await queue.receiveMessages()).receivedMessageItems;
      expect(received?.messageText).toBe(Buffer.from('{"id":1}').toString('base64'));
      await client.getQueueClient('orders-poison').sendMessage('bad');
      const status = { service: 'queues', kind: 'queue', name: 'orders' };
      expect(page.entities()[0]).toEqual({ ...status, depth: 1, inFlight: 1, scheduled: 1, deadLetters: 1 });
      const all = await page.peek('orders', { deadLetters: false, max: 10 });
      expect(all).toMatchObject([
        { state: 'active', body: 'plain', properties: { encoding: 'none' } },
        { state: 'locked', body: '{"id":1}', deliveryCount: 1, properties: { encoding: 'base64' } },
        { state: 'scheduled', body: 'later' },
      ]);
      const rest = await page.peek('orders', { deadLetters: false, max: 1, after: all[1]?.id ?? '' });
      expect(rest).toEqual(all.slice(2));
      expect(await page.peek('orders', { deadLetters: true, max: 10 })).toMatchObject([
        { state: 'dead letter', body: 'bad' },
      ]);
      expect(await page.requeue('orders')).toBe(1);
      expect(await page.purge('orders', { deadLetters: false })).toBe(3);
      expect(page.entities()[0]).toEqual({ ...status, depth: 0, inFlight: 1, scheduled: 0, deadLetters: 0 });
      await queue.deleteMessage(received?.messageId ?? '', received?.popReceipt ?? '');
      await expect(page.peek('nothing', { deadLetters: false, max: 1 })).rejects.toThrow(
        'The queue nothing does not exist',
      );
    }));
});

function raw(port: number, method: string, target: string, headers: Record<string, string> = {}, body?: Buffer) {
  return new Promise<object>((resolve, reject) => {
    const sent = request({ port, method, path: target, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode,
          code: response.headers['x-ms-error-code'],
          version: response.headers['x-ms-version'],
          body: Buffer.concat(chunks).toString(),
        }),
      );
    });
    sent.once('error', reject);
    sent.end(body);
  });
}
