import { stat } from 'node:fs/promises';
import path from 'node:path';
import { ScriptedWorker } from '@drover/function-rpc/testing';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { admitWorkers, composeWorkerEndpoint, composeWorkers, type WorkerSide } from '../compose-workers.js';
import { parseRuntimeConfig } from '../config.js';
import { CertificateAuthority } from './certificate-authority.js';
import { storedAuthority } from './stored-authority.js';

async function withRuntime(
  authority: CertificateAuthority,
  use: (side: WorkerSide, url: string) => Promise<void>,
): Promise<void> {
  const config = parseRuntimeConfig({ DROVER_RPC_PORT: '0', DROVER_RPC_HOST: '127.0.0.1' });
  const io = { clock: systemClock, randomness: systemRandomness, observe: () => undefined };
  const endpoint = composeWorkerEndpoint(config, io, () => Promise.resolve(authority));
  const side = composeWorkers(config, io, endpoint, {
    requestWorker: () => undefined,
    recordReady: () => undefined,
    recordMove: () => undefined,
    readyInMs: () => undefined,
    isolate: () => false,
    endIsolation: () => undefined,
    endWorker: () => undefined,
    run: () => undefined,
    cease: () => undefined,
  });
  admitWorkers(config, io, side, {
    find: () => undefined,
    readIndex: () => expect.unreachable(),
    openJobHost: () => expect.unreachable(),
    lostBy: () => [],
    recordReady: () => expect.unreachable(),
    recordBroken: () => expect.unreachable(),
  });
  await side.listeners.start();
  try {
    await use(side, `https://127.0.0.1:${side.listeners.tls?.port}`);
  } finally {
    await side.listeners.stop();
  }
}

describe('certificates', () => {
  it('let a worker in under its own id, as a placeholder where they name no application', async () => {
    const { authority } = await CertificateAuthority.create();
    await withRuntime(authority, async (side, url) => {
      const tls = await authority.issueWorker({ tenantId: 't', applicationKey: undefined, workerId: 'w1' });
      const worker = await ScriptedWorker.connect({ url, tls, workerId: 'w1' });
      const init = await worker.inbox.next('workerInitRequest');
      expect(init.value.capabilities['DroverReconnect']).toBe('1');
      expect(side.registry.get('w1')).toBeDefined();
      await worker.end();
    });
  });

  it('do not let it in under another id', async () => {
    const { authority } = await CertificateAuthority.create();
    await withRuntime(authority, async (side, url) => {
      const tls = await authority.issueWorker({ tenantId: 't', applicationKey: undefined, workerId: 'w1' });
      const worker = await ScriptedWorker.connect({ url, tls, workerId: 'w2' });
      expect((await worker.inbox.ended).reason).toContain('does not name this worker id');
      expect(side.registry.size).toBe(0);
    });
  });

  it('of another authority, or none at all, do not even reach the protocol', async () => {
    const { authority } = await CertificateAuthority.create();
    const { authority: other } = await CertificateAuthority.create();
    await withRuntime(authority, async (_side, url) => {
      const tls = await other.issueWorker({ tenantId: 't', applicationKey: undefined, workerId: 'w1' });
      const attempt = async (credentials: typeof tls): Promise<string> => {
        const worker = await ScriptedWorker.connect({ url, tls: credentials, workerId: 'w1' });
        return (await worker.inbox.ended).kind;
      };
      await expect(
        attempt({ ...tls, ca: authority.ca }).then((kind) => kind !== 'reset' || Promise.reject(new Error('reset'))),
      ).rejects.toThrow();
    });
  });

  it('come from an authority that is made once and kept for its owner only', () =>
    withScratchDirectory(async (directory) => {
      const where = path.join(directory, 'certificates');
      const [one, other] = await Promise.all([storedAuthority(where), storedAuthority(where)]);
      expect(one.ca).toBe(other.ca);
      expect((await storedAuthority(where)).ca).toBe(one.ca);
      const { mode } = await stat(path.join(where, 'authority.json'));
      expect(mode & 0o777).toBe(0o600);
    }));
});
