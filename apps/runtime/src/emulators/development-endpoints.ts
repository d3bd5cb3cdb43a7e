/** A service of the emulators. Service Bus and Event Hubs share the AMQP port. */
export type EmulatedPort = 'amqp' | 'blob' | 'queue' | 'table';

/** A port of this machine on which an application expects an emulator. */
export interface DevelopmentEndpoint {
  readonly service: EmulatedPort;
  readonly port: number;
}

/** The ports that SDKs use when a connection string names none. */
const sdkPorts: Readonly<Record<EmulatedPort, number>> = { amqp: 5672, blob: 10_000, queue: 10_001, table: 10_002 };

const storageServices = ['blob', 'queue', 'table'] as const;
const developmentAccount = 'devstoreaccount1';
const loopbackHosts = new Set(['localhost', '127.0.0.1']);

/** Returns the endpoints of this machine that a connection string for development names; none for any other text. */
export function developmentEndpoints(text: string): readonly DevelopmentEndpoint[] {
  // Most settings are no connection strings: this keeps a large environment cheap to read.
  if (!/development|devstoreaccount1/i.test(text)) return [];
  const parts = connectionParts(text);
  if (isTrue(parts.get('usedevelopmentstorage'))) return parts.has('developmentstorageproxyuri') ? [] : allStorage();
  if (isTrue(parts.get('usedevelopmentemulator'))) return amqpEndpoint(parts.get('endpoint'));
  if (parts.get('accountname') !== developmentAccount) return [];
  return storageServices.flatMap((service) => storageEndpoint(service, parts.get(`${service}endpoint`)));
}

/** Returns the endpoint that a service URI of the development account names. */
export function storageEndpoint(service: EmulatedPort, uri: string | undefined): readonly DevelopmentEndpoint[] {
  if (uri === undefined || !URL.canParse(uri)) return [];
  const { protocol, hostname, port, pathname } = new URL(uri);
  const isDevelopment = pathname.split('/')[1] === developmentAccount && loopbackHosts.has(hostname);
  return isDevelopment && protocol === 'http:' && port !== '' ? [{ service, port: Number(port) }] : [];
}

function allStorage(): readonly DevelopmentEndpoint[] {
  return storageServices.map((service) => ({ service, port: sdkPorts[service] }));
}

function amqpEndpoint(endpoint: string | undefined): readonly DevelopmentEndpoint[] {
  const uri = endpoint?.replace(/^sb:/i, 'http:');
  if (uri === undefined || !URL.canParse(uri)) return [];
  const { hostname, port } = new URL(uri);
  // The URL parser drops port 80, which it takes for the default.
  const named = /:(\d+)\/?$/.exec(uri)?.[1] ?? port;
  return loopbackHosts.has(hostname) ? [{ service: 'amqp', port: Number(named || sdkPorts.amqp) }] : [];
}

function connectionParts(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split(';').flatMap((part) => {
      const [, key, value] = /^\s*([^=]+?)\s*=(.*)$/.exec(part) ?? [];
      return key === undefined || value === undefined ? [] : [[key.toLowerCase(), value.trim()] as const];
    }),
  );
}

function isTrue(value: string | undefined): boolean {
  return value?.toLowerCase() === 'true';
}
