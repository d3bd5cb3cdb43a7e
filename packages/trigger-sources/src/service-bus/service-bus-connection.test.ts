import { describe, expect, it } from 'vitest';
import { serviceBusConnection, withoutSecretsOf } from './service-bus-connection.js';

const key = 'c2VjcmV0IGtleQ==';
const text = `Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=${key}`;
const connect = (settings: Record<string, string>, connection?: string) =>
  serviceBusConnection({ functionName: 'pay', connection, settings });

describe('the connection of a Service Bus binding', () => {
  it('is the setting AzureWebJobsServiceBus unless the binding names one', () => {
    expect(connect({ AzureWebJobsServiceBus: text }).endpoint).toBe('sb://shop.servicebus.windows.net/');
    expect(connect({ Bus: text }, 'Bus').setting).toBe('Bus');
    expect(connect({ azurewebjobsbus: text }, 'Bus').setting).toBe('AzureWebJobsBus');
  });

  it('drops the entity of the string: the binding names it', () => {
    const { connectionString } = connect({ Bus: `${text};EntityPath=orders` }, 'Bus');
    expect(connectionString.reveal()).toBe(text);
  });

  it('knows the emulator, in any case and on any port', () => {
    const { connectionString, isEmulator } = connect(
      { Bus: `Endpoint=sb://localhost:5673;SharedAccessKeyName=a;SharedAccessKey=b;UseDevelopmentEmulator=True;` },
      'Bus',
    );
    expect(isEmulator).toBe(true);
    expect(connectionString.reveal()).toBe(
      'Endpoint=sb://localhost:5673/;SharedAccessKeyName=a;SharedAccessKey=b;UseDevelopmentEmulator=true',
    );
  });

  it('takes a shared access signature in place of a key', () => {
    const { connectionString } = connect(
      { Bus: 'Endpoint=sb://h/;SharedAccessSignature=SharedAccessSignature sr=x' },
      'Bus',
    );
    expect(connectionString.reveal()).toBe('Endpoint=sb://h/;SharedAccessSignature=SharedAccessSignature sr=x');
  });

  it('keeps its key out of texts and of errors of the service', () => {
    const connection = connect({ Bus: text }, 'Bus');
    expect(JSON.stringify(connection)).not.toContain(key);
    const leaked = new Error(`no access with ${key} or ${encodeURIComponent(key)}`);
    expect(withoutSecretsOf(connection, leaked)).toBe('no access with [secret] or [secret]');
  });

  it.each([
    ['is missing', {}, 'AzureWebJobsServiceBus does not exist. Set it to a Service Bus connection string'],
    ['has no key', { ServiceBus: 'Endpoint=sb://h/' }, 'ServiceBus is not a Service Bus connection string'],
    ['is something else', { ServiceBus: 'UseDevelopmentStorage=true' }, 'is not a Service Bus connection string'],
    [
      'has no URL',
      { ServiceBus: 'Endpoint=here;SharedAccessKeyName=a;SharedAccessKey=b' },
      'has an Endpoint that is not a URL',
    ],
  ])('is refused with the name of the setting when it %s', (_, settings, problem) => {
    expect(() => connect(settings)).toThrow(problem);
  });

  it('is refused when it needs an identity, with the name of the setting', () => {
    expect(() => connect({ Bus__fullyQualifiedNamespace: 'shop.servicebus.windows.net' }, 'Bus')).toThrow(
      expect.objectContaining({ code: 'TRIGGER_CREDENTIALS_MISSING', message: expect.stringContaining('Bus__fully') }),
    );
  });
});
