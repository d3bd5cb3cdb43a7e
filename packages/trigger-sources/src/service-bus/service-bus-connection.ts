import { Secret } from '@drover/service-kit';
import type { NamespaceAddress } from '../amqp/shared-access.js';
import { triggerConnectionInvalid, triggerCredentialsMissing } from '../errors.js';

/** A connection to one namespace. `endpoint` identifies it and holds no secret. */
export interface ServiceBusConnection {
  /** The setting that it comes from, for messages to the user. */
  readonly setting: string;
  readonly endpoint: string;
  /** For links of our own. */
  readonly namespace: NamespaceAddress;
  /** Without `EntityPath`: bindings name the entity. */
  readonly connectionString: Secret;
  /** Values that must not appear in logs. */
  readonly secrets: readonly Secret[];
  /** An emulator serves its administration over plain HTTP. */
  readonly isEmulator: boolean;
}

/** Names our connections to the service. */
export const busProduct = 'drover-service-bus';

interface ServiceBusConnectionRequest {
  readonly functionName: string;
  /** `connection` of the binding: the NAME of a setting. */
  readonly connection: string | undefined;
  /** The application's settings, from its environment or local.settings.json. */
  readonly settings: Readonly<Record<string, string | undefined>>;
}

const defaultConnectionName = 'ServiceBus';
const needed = 'It needs Endpoint=sb://… with SharedAccessKeyName and SharedAccessKey, or with SharedAccessSignature';

/**
 * Resolves the connection of a binding. As in the official host, the setting may have the prefix `AzureWebJobs`, sections are
 * separated by `__` or `:`, and names are case-insensitive. Throws TRIGGER_CONNECTION_INVALID or TRIGGER_CREDENTIALS_MISSING.
 */
export function serviceBusConnection(request: ServiceBusConnectionRequest): ServiceBusConnection {
  const { functionName } = request;
  const name = request.connection?.trim() || defaultConnectionName;
  const settings = new Map(
    Object.entries(request.settings).map(([key, value]) => [key.toLowerCase().replaceAll(':', '__'), value?.trim()]),
  );
  const read = (setting: string): string | undefined =>
    settings.get(setting.toLowerCase().replaceAll(':', '__')) || undefined;
  for (const setting of [`AzureWebJobs${name}`, name]) {
    const text = read(setting);
    if (text) return fromConnectionString(functionName, setting, text);
    const namespace = `${setting}__fullyQualifiedNamespace`;
    if (read(namespace)) throw triggerCredentialsMissing({ functionName, setting: namespace });
  }
  throw triggerConnectionInvalid({
    functionName,
    setting: request.connection?.trim() || `AzureWebJobs${defaultConnectionName}`,
    problem: `does not exist. Set it to a Service Bus connection string (with UseDevelopmentEmulator=true for the emulator on this machine)`,
  });
}

function fromConnectionString(functionName: string, setting: string, text: string): ServiceBusConnection {
  const invalid = (problem: string): Error => triggerConnectionInvalid({ functionName, setting, problem });
  const parts = new Map(
    text.split(';').flatMap((part) => {
      const [, key, value] = /^\s*([^=]+?)\s*=(.*)$/.exec(part) ?? [];
      return key === undefined || value === undefined ? [] : [[key.toLowerCase(), value.trim()] as const];
    }),
  );
  const [endpoint, keyName, key] = [
    parts.get('endpoint'),
    parts.get('sharedaccesskeyname'),
    parts.get('sharedaccesskey'),
  ];
  const signature = parts.get('sharedaccesssignature');
  if (!endpoint || !((keyName && key) || signature)) throw invalid(`is not a Service Bus connection string. ${needed}`);
  const host = /^(?:sb|amqps?|https?):\/\/([^/\s]+)/i.exec(endpoint)?.[1];
  if (host === undefined || !URL.canParse(`amqp://${host}`))
    throw invalid(`has an Endpoint that is not a URL like sb://host/. ${needed}`);
  const isEmulator = parts.get('usedevelopmentemulator')?.toLowerCase() === 'true';
  const access = signature
    ? `SharedAccessSignature=${signature}`
    : `SharedAccessKeyName=${keyName};SharedAccessKey=${key}`;
  const { hostname, port } = new URL(`amqp://${host}`);
  return {
    setting,
    namespace: {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (isEmulator ? 5672 : 5671) : Number(port),
      isEncrypted: !isEmulator,
      access: signature
        ? { kind: 'signature', signature: new Secret(signature) }
        : { kind: 'shared-key', name: keyName ?? '', key: new Secret(key ?? '') },
    },
    endpoint: `sb://${host.toLowerCase()}/`,
    connectionString: new Secret(`Endpoint=sb://${host}/;${access}${isEmulator ? ';UseDevelopmentEmulator=true' : ''}`),
    secrets: [key, signature].flatMap((value) => (value ? [new Secret(value)] : [])),
    isEmulator,
  };
}

/** Returns the text of an error without the secrets of a connection. */
export function withoutSecretsOf({ secrets }: Pick<ServiceBusConnection, 'secrets'>, error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return secrets.reduce((clean, secret) => {
    const value = secret.reveal();
    return clean.replaceAll(value, '[secret]').replaceAll(encodeURIComponent(value), '[secret]');
  }, text);
}
