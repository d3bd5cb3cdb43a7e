import { defaultPorts, type EmulatorConnectionStrings, type EmulatorPort } from './emulators.js';

/** The account that every storage SDK and Azurite know. Its key is public. */
const developmentAccount = {
  name: 'devstoreaccount1',
  key: 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
};

/** Returns the connection strings of emulators that listen on these ports. */
export function connectionStrings(
  host: string,
  ports: Partial<Readonly<Record<EmulatorPort, number>>>,
): EmulatorConnectionStrings {
  const amqp = ports.amqp === undefined ? undefined : amqpString(addressOf(host), ports.amqp);
  return { serviceBus: amqp, eventHubs: amqp, storage: storageString(host, ports) };
}

function amqpString(host: string, port: number): string {
  const endpoint = port === defaultPorts.amqp ? `sb://${host}` : `sb://${host}:${port}`;
  return `Endpoint=${endpoint};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;`;
}

function storageString(
  host: string,
  { blob, queue, table }: Partial<Readonly<Record<EmulatorPort, number>>>,
): string | undefined {
  if (blob === undefined && queue === undefined && table === undefined) return undefined;
  const areDefault = [
    [blob, defaultPorts.blob],
    [queue, defaultPorts.queue],
    [table, defaultPorts.table],
  ].every(([port, usual]) => port === undefined || port === usual);
  if (areDefault && addressOf(host) === 'localhost') return 'UseDevelopmentStorage=true';
  const { name, key } = developmentAccount;
  const address = addressOf(host) === 'localhost' ? '127.0.0.1' : addressOf(host);
  const endpoint = (service: string, port: number | undefined): string =>
    port === undefined ? '' : `${service}Endpoint=http://${address}:${port}/${name};`;
  return [
    `DefaultEndpointsProtocol=http;AccountName=${name};AccountKey=${key};`,
    endpoint('Blob', blob),
    endpoint('Queue', queue),
    endpoint('Table', table),
  ].join('');
}

/** The address that clients on this machine use for a server that listens on `host`. */
function addressOf(host: string): string {
  const isLocal = ['127.0.0.1', 'localhost', '::1', '0.0.0.0', '::'].includes(host);
  if (isLocal) return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
