import type { Clock } from '@drover/service-kit';
import { NamespaceConnection } from './namespace-connection.js';
import type { NamespaceAddress } from './shared-access.js';

/** Which connection is opened. */
export interface NamespaceRequest {
  readonly namespace: NamespaceAddress;
  readonly customEndpointAddress?: string | undefined;
  /** Names this client to the service. */
  readonly product: string;
}

/** Opens a connection. Rejects if the service does not answer, denies access, or `signal` aborts. */
export async function openNamespace(
  { namespace, customEndpointAddress, product }: NamespaceRequest,
  { clock, uuid }: { readonly clock: Clock; readonly uuid: () => string },
  signal: AbortSignal,
): Promise<NamespaceConnection> {
  const container = (await import('rhea')).default.create_container({ id: `drover-${uuid()}` });
  const customEndpoint =
    customEndpointAddress === undefined ? undefined : endpointOf(customEndpointAddress, namespace.port);
  const opened = new NamespaceConnection({ container, namespace, clock, id: uuid(), customEndpoint, product });
  await opened.open(signal);
  return opened;
}

function endpointOf(address: string, defaultPort: number): { readonly host: string; readonly port: number } {
  const [, host = address, port] = /^(?:\w+:\/\/)?([^/:]+)(?::(\d+))?/.exec(address) ?? [];
  return { host, port: port === undefined ? defaultPort : Number(port) };
}
