import type { QueueReply } from './queue-reply.js';
import { metadataOf, numberParameter, type QueueRequest } from './queue-request.js';
import type { StorageQueueStore } from './storage-queue-store.js';
import { invalidQueryParameter, invalidXml } from './storage-error.js';
import type { AccessPolicy, EmulatedQueue } from './emulated-queue.js';
import { childOf, escapeXml, parseXml, toXml, xmlDeclaration, type XmlElement } from '../xml/xml.js';

export function createQueue(store: StorageQueueStore, request: QueueRequest): QueueReply {
  const { value, durable } = store.create(request.account, request.segments[0] ?? '', metadataOf(request));
  return { status: value ? 201 : 204, durable };
}

export const deleteQueue = (store: StorageQueueStore, queue: EmulatedQueue): QueueReply => ({
  status: 204,
  durable: store.deleteQueue(queue).durable,
});

export function getQueueProperties(queue: EmulatedQueue): QueueReply {
  const metadata = Object.entries(queue.metadata).flatMap(([name, value]) => [`x-ms-meta-${name}`, value]);
  return { status: 200, headers: ['x-ms-approximate-messages-count', `${queue.count}`, ...metadata] };
}

export const setQueueMetadata = (
  store: StorageQueueStore,
  queue: EmulatedQueue,
  request: QueueRequest,
): QueueReply => ({
  status: 204,
  durable: store.setMetadata(queue, metadataOf(request)).durable,
});

const policyFields = [
  ['Start', 'start'],
  ['Expiry', 'expiry'],
  ['Permission', 'permission'],
] as const;

export function getAccessPolicies({ policies }: EmulatedQueue): QueueReply {
  const identifiers = policies.map((policy) => {
    const fields = policyFields.map(([element, field]) =>
      policy[field] === undefined ? '' : `<${element}>${escapeXml(policy[field])}</${element}>`,
    );
    const access = `<AccessPolicy>${fields.join('')}</AccessPolicy>`;
    return `<SignedIdentifier><Id>${escapeXml(policy.id)}</Id>${access}</SignedIdentifier>`;
  });
  return { status: 200, body: `${xmlDeclaration}<SignedIdentifiers>${identifiers.join('')}</SignedIdentifiers>` };
}

export function setAccessPolicies(store: StorageQueueStore, queue: EmulatedQueue, { body }: QueueRequest): QueueReply {
  const policies = body === '' ? [] : parseXml(body).children.map(readPolicy);
  if (policies.length > 5) throw invalidXml('A queue has at most five stored access policies.');
  return { status: 204, durable: store.setPolicies(queue, policies).durable };
}

function readPolicy(identifier: XmlElement): AccessPolicy {
  const access = childOf(identifier, 'AccessPolicy');
  const policy: Record<string, string> = {};
  for (const [element, field] of policyFields) {
    const text = access && childOf(access, element)?.text;
    if (text !== undefined && text !== '') policy[field] = text;
  }
  if (!/^[raup]*$/.test(policy['permission'] ?? ''))
    throw invalidXml('Permission is made of the letters r, a, u and p.');
  return { id: childOf(identifier, 'Id')?.text ?? '', ...policy };
}

const mostResults = 5_000;

export function listQueues(store: StorageQueueStore, request: QueueRequest): QueueReply {
  const most = numberParameter(request, 'maxresults', { min: 1, max: 2 ** 31 - 1 });
  const prefix = request.query.get('prefix') ?? '';
  const marker = request.query.get('marker') ?? '';
  const withMetadata = request.query.get('include')?.toLowerCase().split(',').includes('metadata') === true;
  const found = store.queuesOf(request.account).filter(({ name }) => name.startsWith(prefix) && name >= marker);
  const limit = Math.min(most ?? mostResults, mostResults);
  const queues = found
    .slice(0, limit)
    .map(({ name, metadata }) => `<Queue><Name>${name}</Name>${withMetadata ? metadataXml(metadata) : ''}</Queue>`);
  const endpoint = `http://${request.headers.host ?? ''}/${request.account}`;
  return {
    status: 200,
    body:
      `${xmlDeclaration}<EnumerationResults ServiceEndpoint="${escapeXml(endpoint).replaceAll('"', '&quot;')}">` +
      `<Prefix>${escapeXml(prefix)}</Prefix><Marker>${escapeXml(marker)}</Marker><MaxResults>${most ?? mostResults}</MaxResults>` +
      `<Queues>${queues.join('')}</Queues><NextMarker>${found[limit]?.name ?? ''}</NextMarker></EnumerationResults>`,
  };
}

/** Names of metadata are names of elements: C# identifiers in Azure. */
const metadataXml = (metadata: Readonly<Record<string, string>>): string => {
  const elements = Object.entries(metadata).map(([name, value]) => `<${name}>${escapeXml(value)}</${name}>`);
  return `<Metadata>${elements.join('')}</Metadata>`;
};

const metrics =
  '<Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>';

/** What a new account has. */
const defaultSections: Readonly<Record<string, string>> = {
  Logging:
    '<Logging><Version>1.0</Version><Delete>true</Delete><Read>true</Read><Write>true</Write>' +
    '<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>',
  HourMetrics: `<HourMetrics>${metrics}</HourMetrics>`,
  MinuteMetrics: `<MinuteMetrics>${metrics}</MinuteMetrics>`,
  Cors: '<Cors></Cors>',
};

export function getServiceProperties(store: StorageQueueStore, { account }: QueueRequest): QueueReply {
  const sections = Object.values({ ...defaultSections, ...store.properties(account) }).join('');
  return { status: 200, body: `${xmlDeclaration}<StorageServiceProperties>${sections}</StorageServiceProperties>` };
}

export function setServiceProperties(store: StorageQueueStore, { account, body }: QueueRequest): QueueReply {
  const root = parseXml(body);
  if (root.name !== 'StorageServiceProperties') throw invalidXml('The root element must be StorageServiceProperties.');
  const sections = root.children
    .filter(({ name }) => name in defaultSections)
    .map((section) => [section.name, toXml(section)]);
  return { status: 202, durable: store.setProperties(account, Object.fromEntries(sections)).durable };
}

/** Only the secondary of an account knows how far it is behind. */
export function getStatistics({ isSecondary }: QueueRequest, now: number): QueueReply {
  if (!isSecondary) throw invalidQueryParameter('comp', 'stats', 'Ask the secondary: <account>-secondary.');
  const sync = `<LastSyncTime>${new Date(now).toUTCString()}</LastSyncTime>`;
  const stats = `<GeoReplication><Status>live</Status>${sync}</GeoReplication>`;
  return { status: 200, body: `${xmlDeclaration}<StorageServiceStats>${stats}</StorageServiceStats>` };
}
