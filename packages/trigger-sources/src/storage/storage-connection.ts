import { Secret } from '@drover/service-kit';
import { triggerConnectionInvalid, triggerCredentialsMissing } from '../errors.js';

/** The services of a storage account. */
export type StorageService = 'blob' | 'queue' | 'table';

/** A token credential as `@azure/identity` creates them. */
export interface StorageCredential {
  getToken(scopes: string | string[]): Promise<{ readonly token: string; readonly expiresOnTimestamp: number } | null>;
}

/** A connection to one service of a storage account. */
export type StorageConnection = ConnectedBy & {
  /** Identifies the account; holds no secret. */
  readonly endpoint: string;
  /** The setting that the connection was read from, for error messages. */
  readonly setting: string;
};

type ConnectedBy =
  | { readonly kind: 'shared-key'; readonly account: string; readonly key: Secret }
  /** `query` is a shared access signature, or empty if there is a credential. */
  | { readonly kind: 'uri'; readonly query: Secret; readonly credential: StorageCredential | undefined };

interface StorageConnectionRequest {
  readonly service: StorageService;
  readonly functionName: string;
  /** `connection` of the binding: the NAME of a setting. */
  readonly connection: string | undefined;
  /** The application's settings, from its environment or local.settings.json. */
  readonly settings: Readonly<Record<string, string | undefined>>;
  /** For connections without a key. */
  readonly credential?: StorageCredential;
}

/** The setting of bindings that name none. */
export const hostStorageSetting = 'AzureWebJobsStorage';

/** The emulator on this machine. Its account and key are public. */
const development = {
  ports: { blob: 10_000, queue: 10_001, table: 10_002 },
  account: 'devstoreaccount1',
  key: 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
} as const;

/** Suffixes of settings that hold the URI of a service. The second of each is an alias that Azure accepts. */
const uriSuffixes: Readonly<Record<StorageService, readonly string[]>> = {
  blob: ['__blobServiceUri', '__serviceUri'],
  queue: ['__queueServiceUri', '__serviceUri'],
  table: ['__tableServiceUri', '__serviceUri', '__endpoint'],
};

/**
 * Resolves the connection of a binding. As in the official host, the setting may have the prefix `AzureWebJobs`, sections are
 * separated by `__` or `:`, and names are case-insensitive. Throws TRIGGER_CONNECTION_INVALID or TRIGGER_CREDENTIALS_MISSING.
 */
export function storageConnection(request: StorageConnectionRequest): StorageConnection {
  const { service, functionName } = request;
  const name = request.connection?.trim() || hostStorageSetting;
  const settings = new Map(
    Object.entries(request.settings).map(([key, value]) => [key.toLowerCase().replaceAll(':', '__'), value?.trim()]),
  );
  for (const setting of [`AzureWebJobs${name}`, name]) {
    const read = (suffix: string): string | undefined =>
      settings.get(`${setting}${suffix}`.toLowerCase().replaceAll(':', '__')) || undefined;
    const text = read('');
    if (text) return fromConnectionString(request, setting, text);
    for (const suffix of uriSuffixes[service]) {
      const uri = read(suffix);
      if (uri) return fromUri(request, `${setting}${suffix}`, uri);
    }
    const account = read('__accountName');
    if (account) return fromUri(request, `${setting}__accountName`, `https://${account}.${service}.core.windows.net`);
  }
  const [suffix = ''] = uriSuffixes[service];
  throw triggerConnectionInvalid({
    functionName,
    setting: name,
    problem: hasStorageConnection(request.settings, name)
      ? `has no address of the ${service} service. Set ${name}${suffix} to its URI`
      : 'does not exist. Set it to a storage connection string (UseDevelopmentStorage=true for Azurite on this machine)',
  });
}

/** Whether settings hold the connection of a binding, valid or not: to this service, or to any. */
export function hasStorageConnection(
  settings: StorageConnectionRequest['settings'],
  connection: string,
  service?: StorageService,
): boolean {
  const name = connection.toLowerCase().replaceAll(':', '__');
  const ends = service && ['', ...uriSuffixes[service], '__accountName'].map((suffix) => suffix.toLowerCase());
  return Object.entries(settings).some(([key, value]) => {
    const folded = key.toLowerCase().replaceAll(':', '__');
    const isNamed = [name, `azurewebjobs${name}`].some((one) =>
      ends ? ends.some((end) => folded === `${one}${end}`) : folded === one || folded.startsWith(`${one}__`),
    );
    return isNamed && (value ?? '').trim() !== '';
  });
}

function fromConnectionString(
  { service, functionName }: StorageConnectionRequest,
  setting: string,
  text: string,
): StorageConnection {
  const invalid = (problem: string): Error => triggerConnectionInvalid({ functionName, setting, problem });
  const parts = new Map(
    text.split(';').flatMap((part) => {
      const [, key, value] = /^\s*([^=]+?)\s*=(.*)$/.exec(part) ?? [];
      return key === undefined || value === undefined ? [] : [[key.toLowerCase(), value.trim()] as const];
    }),
  );
  const named = `${service[0]?.toUpperCase()}${service.slice(1)}Endpoint`;
  const checked = (endpoint: string): string =>
    withoutSecrets(endpoint) ?? fail(invalid(`has a ${named} that is not a URL`));
  if (parts.get('usedevelopmentstorage')?.toLowerCase() === 'true')
    return { ...developmentStorage(service, parts.get('developmentstorageproxyuri')), setting };
  const [account, key, written] = [
    parts.get('accountname'),
    parts.get('accountkey'),
    parts.get(named.toLowerCase()) || undefined,
  ];
  const signature = parts.get('sharedaccesssignature')?.replace(/^\?/, '');
  const suffix = parts.get('endpointsuffix') || 'core.windows.net';
  const usual = account && `${parts.get('defaultendpointsprotocol') || 'https'}://${account}.${service}.${suffix}`;
  const address = written ?? usual;
  if (signature && address)
    return { kind: 'uri', endpoint: checked(address), query: new Secret(signature), credential: undefined, setting };
  if (!account || !key || !address)
    throw invalid(
      `is not a storage connection string. It needs AccountName and AccountKey, or ${named} and SharedAccessSignature`,
    );
  return { kind: 'shared-key', endpoint: checked(address), account, key: new Secret(key), setting };
}

function developmentStorage(
  service: StorageService,
  proxyUri: string | undefined,
): ConnectedBy & { readonly endpoint: string } {
  const { account, key, ports } = development;
  const origin = proxyUri && URL.canParse(proxyUri) ? proxyUri.replace(/\/+$/, '') : 'http://127.0.0.1';
  return {
    kind: 'shared-key',
    endpoint: `${origin}:${ports[service]}/${account}`,
    account,
    key: new Secret(key),
  };
}

function fromUri(
  { service, functionName, credential }: StorageConnectionRequest,
  setting: string,
  uri: string,
): StorageConnection {
  const endpoint = withoutSecrets(uri);
  if (endpoint === undefined)
    throw triggerConnectionInvalid({ functionName, setting, problem: `is not the URL of a ${service} service` });
  const { search, searchParams } = new URL(uri);
  const isSigned = searchParams.has('sig');
  if (!isSigned && !credential) throw triggerCredentialsMissing({ functionName, setting });
  return {
    kind: 'uri',
    endpoint,
    query: new Secret(isSigned ? search.slice(1) : ''),
    credential: isSigned ? undefined : credential,
    setting,
  };
}

/** Normalizes a URL and removes its query, which may hold a signature. Returns undefined if it is not an HTTP URL. */
function withoutSecrets(uri: string): string | undefined {
  if (!URL.canParse(uri)) return undefined;
  const { protocol, origin, pathname } = new URL(uri);
  return /^https?:$/.test(protocol) ? `${origin}${pathname}`.replace(/\/+$/, '') : undefined;
}

function fail(error: Error): never {
  throw error;
}
