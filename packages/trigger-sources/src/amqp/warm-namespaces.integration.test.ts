import { startEmulators, type Emulators } from '@drover/azure-emulators';
import { Secret, systemClock, systemRandomness } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { NamespaceClient } from './namespace-client.js';
import type { NamespaceConnection } from './namespace-connection.js';
import type { NamespaceRequest } from './open-namespace.js';
import { WarmNamespaces } from './warm-namespaces.js';

let emulators: Emulators;
let warm: WarmNamespaces;
const taken: NamespaceConnection[] = [];
beforeAll(async () => {
  emulators = await startEmulators({ ports: { amqp: 0 } });
});
afterAll(() => emulators.stop());
beforeEach(() => {
  warm = new WarmNamespaces({ clock: systemClock, randomness: systemRandomness });
});
afterEach(async () => {
  await warm.close();
  await Promise.all(taken.splice(0).map((connection) => connection.close()));
});

function request(key = 'any', port = emulators.ports.amqp ?? 0): NamespaceRequest {
  const access = { kind: 'shared-key', name: 'Root', key: new Secret(key) } as const;
  return { namespace: { host: '127.0.0.1', port, isEncrypted: false, access }, product: 'drover-service-bus' };
}

/** Takes a connection as soon as there is one. */
const takeSoon = (from: NamespaceRequest): Promise<NamespaceConnection> =>
  eventually(() => {
    const connection = warm.take(from);
    if (!connection) throw new Error('there is no connection');
    taken.push(connection);
    return connection;
  });

describe('connections that are opened ahead', () => {
  it('are handed over once each, and opened again while they are wanted', async () => {
    const end = warm.keep(request());
    const first = await takeSoon(request());
    expect(first.isLost).toBe(false);
    expect(warm.take(request())).toBeUndefined();
    const second = await takeSoon(request());
    expect(second).not.toBe(first);
    end();
  });

  it('are shared by all triggers of a namespace with the same credentials, and by no others', async () => {
    const ends = Array.from({ length: 100 }, () => warm.keep(request()));
    await takeSoon(request());
    expect(warm.take(request('other'))).toBeUndefined();
    for (const end of ends) end();
    for (const end of ends) end(); // a second time does nothing
    expect(warm.take(request())).toBeUndefined();
  });

  it('are used by the next client of the namespace, which opens its own if there is none', async () => {
    const end = warm.keep(request());
    await takeSoon(request());
    const io = { clock: systemClock, tryTimeoutMs: 5_000, uuid: () => systemRandomness.uuid() };
    const client = new NamespaceClient({ ...request(), ...io, warm });
    const own = await client.connected(); // the refill has not begun yet
    expect(own.isLost).toBe(false);
    await client.close();
    expect(own.isLost).toBe(true);
    end();
  });

  it('are replaced when the service ends them, and while it cannot be reached nothing is handed over', async () => {
    const own = await startEmulators({ ports: { amqp: 0 } });
    const at = request('any', own.ports.amqp);
    warm.keep(at);
    await takeSoon(at);
    await own.stop();
    expect(taken[0]?.isLost).toBe(true);
    expect(warm.take(at)).toBeUndefined();
  });
});
