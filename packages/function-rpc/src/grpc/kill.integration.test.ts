import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import { Child } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { connectEventStream } from '../client/connect-event-stream.js';
import { packageFolder } from '../generator/schema.js';
import { MessageInbox } from '../testing/message-inbox.js';
import { ScriptedHost } from '../testing/scripted-host.js';

const program = (name: string): string => path.join(packageFolder, 'dist', 'grpc', `${name}.test.fixture.js`);

describe('a peer that is killed', () => {
  it('is missed by the host', async () => {
    const host = await ScriptedHost.listen();
    const child = new Child(process.execPath, [program('worker-process'), host.url]);
    try {
      const worker = await host.worker(30_000);
      await worker.next('startStream');
      child.kill('SIGKILL');
      expect(await worker.inbox.ended).toMatchObject({ kind: 'reset' });
    } finally {
      await child.end();
      await host.stop();
    }
  });

  it('is missed by the worker', async () => {
    const child = new Child(process.execPath, [program('host-process')]);
    try {
      const url = await child.line(/^http:/);
      const inbox = new MessageInbox(await connectEventStream({ url }));
      child.kill('SIGKILL');
      expect(await inbox.ended).toMatchObject({ kind: 'reset' });
    } finally {
      await child.end();
    }
  });
});

describe('a host that accepts and sends nothing', () => {
  it('is waited for until the signal of the worker aborts', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined).resume());
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const attempt = connectEventStream({ url: `http://127.0.0.1:${port}`, signal: AbortSignal.timeout(50) });
    await expect(attempt).rejects.toThrow('aborted');
    silent.close();
    await once(silent, 'close');
  });
});
