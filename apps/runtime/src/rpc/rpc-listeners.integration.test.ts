import { createServer, type AddressInfo } from 'node:net';
import { hasCode } from '@drover/contracts';
import { afterEach, describe, expect, it } from 'vitest';
import { CertificateAuthority } from '../certificates/certificate-authority.js';
import { composeWorkerEndpoint } from '../compose-workers.js';
import { parseRuntimeConfig } from '../config.js';
import type { RpcListeners } from './rpc-listeners.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** The listeners of a runtime with these variables, and a certificate authority of its own. */
function listenersOf(environment: Readonly<Record<string, string>>): RpcListeners {
  const config = parseRuntimeConfig(environment);
  const { listeners } = composeWorkerEndpoint(
    config,
    { observe: () => undefined },
    async () => (await CertificateAuthority.create()).authority,
  );
  closing.push(() => listeners.stop());
  return listeners;
}

async function takenPort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => new Promise((resolve) => server.close(resolve)));
  return String((server.address() as AddressInfo).port);
}

describe('the listeners for function workers', () => {
  it('are on loopback and free ports unless configured, so that two runtimes run side by side', async () => {
    const [one, other] = [listenersOf({}), listenersOf({})];
    await one.start();
    await other.start();
    const { tls, loopback } = one;
    expect([tls?.host, loopback.host]).toEqual(['127.0.0.1', '127.0.0.1']);
    expect(new Set([tls?.port, loopback.port, other.tls?.port, other.loopback.port]).size).toBe(4);
  });

  it.each(['DROVER_RPC_PORT', 'DROVER_RPC_LOOPBACK_PORT'])('name the port that is in use, and %s', async (setting) => {
    const port = await takenPort();
    const failure = await listenersOf({ [setting]: port })
      .start()
      .catch((error: unknown) => error);
    expect(hasCode(failure, 'RUNTIME_RPC_PORT_UNUSABLE')).toBe(true);
    expect(String(failure)).toContain(`on 127.0.0.1:${port} (EADDRINUSE)`);
    expect(String(failure)).toContain(`set ${setting} to another one`);
  });
});
