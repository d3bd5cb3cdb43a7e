import { Secret } from '@drover/service-kit';
import { authorityOf, type NamespaceAddress } from '../amqp/shared-access.js';
import { triggerConnectionInvalid, triggerCredentialsMissing } from '../errors.js';

/** A connection to the event hubs of one namespace. `host` and `port` hold no secret. */
export interface EventHubConnection extends NamespaceAddress {
  /** The setting that holds the connection string, for messages. */
  readonly setting: string;
  /** The hub that the connection string names; it takes precedence over the binding, as in Azure. */
  readonly entityPath: string | undefined;
}

interface EventHubConnectionRequest {
  readonly functionName: string;
  /** `connection` of the binding: the NAME of a setting. */
  readonly connection: string | undefined;
  /** The application's settings, from its environment or local.settings.json. */
  readonly settings: Readonly<Record<string, string | undefined>>;
}

const defaultConnectionSetting = 'EventHub';
const needed =
  'Set it to a connection string of the namespace (Endpoint=sb://localhost;SharedAccessKeyName=…;SharedAccessKey=…;UseDevelopmentEmulator=true for an emulator on this machine)';

/**
 * Resolves the connection of a binding. As in the official host, the setting may have the prefix `AzureWebJobs`, sections are
 * separated by `__` or `:`, and names are case-insensitive. Throws TRIGGER_CONNECTION_INVALID or TRIGGER_CREDENTIALS_MISSING.
 */
export function eventHubConnection(request: EventHubConnectionRequest): EventHubConnection {
  const { functionName } = request;
  const name = request.connection?.trim() || defaultConnectionSetting;
  const fold = (key: string): string => key.toLowerCase().replaceAll(':', '__');
  const settings = new Map(Object.entries(request.settings).map(([key, value]) => [fold(key), value?.trim()]));
  for (const setting of [`AzureWebJobs${name}`, name]) {
    const text = settings.get(fold(setting));
    if (text) return fromConnectionString(functionName, setting, text);
    if (settings.get(fold(`${setting}__fullyQualifiedNamespace`)))
      throw triggerCredentialsMissing({ functionName, setting: `${setting}__fullyQualifiedNamespace` });
  }
  throw triggerConnectionInvalid({ functionName, setting: name, problem: `does not exist. ${needed}` });
}

function fromConnectionString(functionName: string, setting: string, text: string): EventHubConnection {
  const parts = new Map(
    text.split(';').flatMap((part) => {
      const [, key, value] = /^\s*([^=]+?)\s*=(.*)$/.exec(part) ?? [];
      return key === undefined || value === undefined ? [] : [[key.toLowerCase(), value.trim()] as const];
    }),
  );
  const [endpoint, name, key] = [parts.get('endpoint'), parts.get('sharedaccesskeyname'), parts.get('sharedaccesskey')];
  const signature = parts.get('sharedaccesssignature');
  const isEmulator = parts.get('usedevelopmentemulator')?.toLowerCase() === 'true';
  const address = /^(?:sb|amqps?|https?):\/\/([^/:]+)(?::(\d{1,5}))?\/?$/i.exec(endpoint ?? '');
  if (!address || (!signature && !(name && key)))
    throw triggerConnectionInvalid({
      functionName,
      setting,
      problem: `is not a connection string of an Event Hubs namespace. It needs Endpoint=sb://…, SharedAccessKeyName and SharedAccessKey. ${needed}`,
    });
  const [, host = '', port] = address;
  return {
    setting,
    host,
    port: port === undefined ? (isEmulator ? 5672 : 5671) : Number(port),
    isEncrypted: !isEmulator,
    entityPath: parts.get('entitypath') || undefined,
    access: signature
      ? { kind: 'signature', signature: new Secret(signature) }
      : { kind: 'shared-key', name: name ?? '', key: new Secret(key ?? '') },
  };
}

/** Returns the hub of a binding. Throws TRIGGER_CONNECTION_INVALID if neither the binding nor the connection string names one. */
export function hubNameOf(
  functionName: string,
  { entityPath, setting }: EventHubConnection,
  eventHubName: string | undefined,
): string {
  const hub = entityPath ?? eventHubName;
  if (hub !== undefined) return hub;
  throw triggerConnectionInvalid({
    functionName,
    setting,
    problem: 'names no hub (EntityPath), and the binding has no eventHubName. Set one of them',
  });
}

/** The connection string for the SDK, without the hub. */
export function toConnectionString({ host, port, isEncrypted, access }: EventHubConnection): string {
  const credentials =
    access.kind === 'signature'
      ? `SharedAccessSignature=${access.signature.reveal()}`
      : `SharedAccessKeyName=${access.name};SharedAccessKey=${access.key.reveal()}`;
  return `Endpoint=sb://${authorityOf({ host, port, isEncrypted })}/;${credentials}${isEncrypted ? '' : ';UseDevelopmentEmulator=true'}`;
}
