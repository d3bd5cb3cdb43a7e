import { Secret } from '@drover/service-kit';
import { triggerConnectionInvalid, triggerCredentialsMissing } from '../errors.js';

/** A token credential as `@azure/identity` creates them. */
interface QueueCredential {
  getToken(scopes: string | string[]): Promise<{ readonly token: string; readonly expiresOnTimestamp: number } | null>;
}

/** A connection to the queues of one storage account. `endpoint` identifies the account and holds no secret. */
export type QueueConnection =
  | { readonly kind: 'shared-key'; readonly endpoint: string; readonly account: string; readonly key: Secret }
  | {
      readonly kind: 'uri';
      readonly endpoint: string;
      readonly uri: Secret;
      readonly credential: QueueCredential | undefined;
    };

interface QueueConnectionRequest {
  readonly functionName: string;
  /** `connection` of the binding: the NAME of a setting. */
  readonly connection: string | undefined;
  /** The application's settings, from its environment or local.settings.json. */
  readonly settings: Readonly<Record<string, string | undefined>>;
  /** For connections without a key. */
  readonly credential?: QueueCredential;
}

const defaultConnectionSetting = 'AzureWebJobsStorage';
/** The emulator on this machine. Its account and key are public. */
const development = {
  endpoint: 'http://127.0.0.1:10001/devstoreaccount1',
  account: 'devstoreaccount1',
  key: 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
};

/**
 * Resolves the connection of a binding. As in the official host, the setting may have the prefix `AzureWebJobs`, sections are
 * separated by `__` or `:`, and names are case-insensitive. Throws TRIGGER_CONNECTION_INVALID or TRIGGER_CREDENTIALS_MISSING.
 */
export function queueConnection(request: QueueConnectionRequest): QueueConnection {
  const name = request.connection?.trim() || defaultConnectionSetting;
  const settings = new Map(
    Object.entries(request.settings).map(([key, value]) => [key.toLowerCase().replaceAll(':', '__'), value?.trim()]),
  );
  for (const setting of [`AzureWebJobs${name}`, name]) {
    const read = (suffix: string): string | undefined =>
      settings.get(`${setting}${suffix}`.toLowerCase().replaceAll(':', '__')) || undefined;
    const text = read('');
    if (text) return fromConnectionString(request.functionName, setting, text);
    for (const key of ['__queueServiceUri', '__serviceUri']) {
      const uri = read(key);
      if (uri) return fromUri(request, `${setting}${key}`, uri);
    }
    const account = read('__accountName');
    if (account) return fromUri(request, `${setting}__accountName`, `https://${account}.queue.core.windows.net`);
  }
  throw triggerConnectionInvalid({
    functionName: request.functionName,
    setting: name,
    problem: `does not exist. Set it to a storage connection string (UseDevelopmentStorage=true for Azurite on this machine)`,
  });
}

function fromConnectionString(functionName: string, setting: string, text: string): QueueConnection {
  const invalid = (problem: string): Error => triggerConnectionInvalid({ functionName, setting, problem });
  const parts = new Map(
    text.split(';').flatMap((part) => {
      const [, key, value] = /^\s*([^=]+?)\s*=(.*)$/.exec(part) ?? [];
      return key === undefined || value === undefined ? [] : [[key.toLowerCase(), value.trim()] as const];
    }),
  );
  const checked = (endpoint: string): string =>
    withoutSecrets(endpoint) ?? fail(invalid('has a QueueEndpoint that is not a URL'));
  if (parts.get('usedevelopmentstorage')?.toLowerCase() === 'true')
    return { ...development, kind: 'shared-key', key: new Secret(development.key) };
  const [account, key, written] = [parts.get('accountname'), parts.get('accountkey'), parts.get('queueendpoint')];
  const signature = parts.get('sharedaccesssignature')?.replace(/^\?/, '');
  if (signature && written) {
    const endpoint = checked(written);
    return { kind: 'uri', endpoint, uri: new Secret(`${endpoint}?${signature}`), credential: undefined };
  }
  if (!account || !key)
    throw invalid(
      'is not a storage connection string. It needs AccountName and AccountKey, or QueueEndpoint and SharedAccessSignature',
    );
  const suffix = parts.get('endpointsuffix') || 'core.windows.net';
  const usual = `${parts.get('defaultendpointsprotocol') || 'https'}://${account}.queue.${suffix}`;
  return { kind: 'shared-key', endpoint: checked(written || usual), account, key: new Secret(key) };
}

function fromUri({ functionName, credential }: QueueConnectionRequest, setting: string, uri: string): QueueConnection {
  const endpoint = withoutSecrets(uri);
  if (endpoint === undefined)
    throw triggerConnectionInvalid({ functionName, setting, problem: 'is not the URL of a queue service' });
  const isSigned = new URL(uri).searchParams.has('sig');
  if (!isSigned && !credential) throw triggerCredentialsMissing({ functionName, setting });
  return { kind: 'uri', endpoint, uri: new Secret(uri), credential: isSigned ? undefined : credential };
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
