import { describe, expect, it } from 'vitest';
import { accessToken, audienceOf } from '../amqp/shared-access.js';
import { eventHubConnection, hubNameOf, toConnectionString } from './event-hub-connection.js';

const key = 'c2VjcmV0';
const cloud = `Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=${key}=`;
const local = `Endpoint=sb://localhost:5777;SharedAccessKeyName=any;SharedAccessKey=${key};UseDevelopmentEmulator=true;`;
const find = (settings: Record<string, string | undefined>, connection?: string) =>
  eventHubConnection({ functionName: 'ingest', connection, settings });

describe('the connection of an event hub', () => {
  it('is the setting that it names, with or without the usual prefix', () => {
    expect(find({ Telemetry: cloud }, 'Telemetry')).toMatchObject({
      setting: 'Telemetry',
      host: 'shop.servicebus.windows.net',
      port: 5671,
      isEncrypted: true,
      entityPath: undefined,
    });
    expect(find({ AzureWebJobsEventHub: local })).toMatchObject({ host: 'localhost', port: 5777, isEncrypted: false });
    const emulator = 'Endpoint=sb://localhost;SharedAccessKeyName=a;SharedAccessKey=b;UseDevelopmentEmulator=true';
    expect(find({ EVENTHUB: emulator }).port).toBe(5672);
  });

  it.each([
    [{}, /setting EventHub does not exist\. Set it to a connection string/],
    [{ EventHub: 'Endpoint=sb://x' }, /setting EventHub is not a connection string of an Event Hubs namespace/],
    [{ EventHub: `SharedAccessKeyName=a;SharedAccessKey=${key}` }, /needs Endpoint/],
    [{ EventHub__fullyQualifiedNamespace: 'shop.servicebus.windows.net' }, /EventHub__fullyQualifiedNamespace names/],
  ])('names the setting that is missing or wrong, and shows no secret: %j', (settings, text) => {
    expect(() => find(settings)).toThrow(text);
    expect(() => find(settings)).not.toThrow(key);
  });

  it('names the hub, with precedence over the binding', () => {
    expect(hubNameOf('ingest', find({ EventHub: `${cloud};EntityPath=orders` }), 'other')).toBe('orders');
    expect(hubNameOf('ingest', find({ EventHub: cloud }), 'other')).toBe('other');
    expect(() => hubNameOf('ingest', find({ EventHub: cloud }), undefined)).toThrow(/eventHubName/);
  });

  it('is passed to the SDK as it was, without a usual port', () => {
    expect(toConnectionString(find({ EventHub: cloud }))).toBe(cloud);
    expect(toConnectionString(find({ EventHub: local }))).toBe(
      `Endpoint=sb://localhost:5777/;SharedAccessKeyName=any;SharedAccessKey=${key};UseDevelopmentEmulator=true`,
    );
    const signed = 'Endpoint=sb://x.example/;SharedAccessSignature=SharedAccessSignature sr=x&sig=y';
    expect(toConnectionString(find({ EventHub: signed }))).toBe(signed);
  });

  it('signs a token for one resource that expires after an hour', () => {
    const connection = find({ EventHub: local });
    const audience = audienceOf(connection, 'orders/ConsumerGroups/$Default/Partitions/0');
    expect(audience).toBe('sb://localhost:5777/orders/ConsumerGroups/$Default/Partitions/0');
    const token = accessToken(connection, audience, 1_000_000);
    expect(token).toMatch(
      /^SharedAccessSignature sr=sb%3A%2F%2Flocalhost%3A5777%2Forders.*&sig=[^&]+&se=4600&skn=any$/,
    );
    expect(token).not.toContain(key);
  });
});
