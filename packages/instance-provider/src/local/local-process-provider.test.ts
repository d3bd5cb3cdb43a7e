import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { channelPair } from '../testing/channel-pair.js';
import { FakeInstanceProvider } from '../testing/fake-instance-provider.js';
import { LocalProcessProvider } from './local-process-provider.js';
import { serveInstances } from './serve-instances.js';

const spec = { instanceId: 'one', role: 'function-worker', labels: {}, environment: {}, args: [] } as const;

describe('LocalProcessProvider', () => {
  it('fails calls that have no answer when the host is gone, and every later one', async () => {
    const { client, cut } = channelPair();
    const provider = new LocalProcessProvider(client);
    const waiting = provider.start(spec, 1);
    cut();
    await expect(waiting).rejects.toMatchObject({ code: 'INSTANCE_HOST_LOST', retryable: true });
    await expect(provider.list()).rejects.toMatchObject({ code: 'INSTANCE_HOST_LOST' });
  });

  it('keeps code and details of the errors of the host', async () => {
    const pair = channelPair();
    serveInstances(new FakeInstanceProvider({ clock: new FakeClock() }), pair.host);
    const provider = new LocalProcessProvider(pair.client);
    await provider.list(4);
    await expect(provider.start(spec, 3)).rejects.toMatchObject({
      code: 'INSTANCE_FENCED',
      status: 409,
      details: { token: 3, highest: 4 },
    });
  });

  it('ignores messages of others on the same channel', async () => {
    const pair = channelPair();
    const host = new FakeInstanceProvider({ clock: new FakeClock() });
    serveInstances(host, pair.host);
    const provider = new LocalProcessProvider(pair.client);
    for (const message of [null, 'ready', { type: 'connection-peer' }, { type: 'instances.call', call: 'constructor' }])
      pair.client.send(message);
    for (const message of [null, { type: 'instances.answer' }, { type: 'instances.event' }]) pair.host.send(message);
    await provider.start(spec, 1);
    expect(await provider.list()).toHaveLength(1);
  });

  it('hears nothing any more when its service has ended', async () => {
    const clock = new FakeClock();
    const pair = channelPair();
    const host = new FakeInstanceProvider({ clock, startMs: () => 100 });
    const end = serveInstances(host, pair.host);
    const provider = new LocalProcessProvider(pair.client);
    const states: string[] = [];
    provider.subscribe(({ instance }) => states.push(instance.state));
    await provider.start(spec, 1);
    end();
    await clock.advance(1_000);
    expect(states).toEqual(['starting']);
  });
});
