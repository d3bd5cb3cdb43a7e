import type { IncomingMessage, ServerResponse } from 'node:http';
import { JournalError } from '../../journal/journal-error.js';
import { parseAddress } from '../broker/address.js';
import type { Broker } from '../broker/broker.js';
import { BrokerError, type BrokerErrorCode } from '../broker/broker-error.js';
import type { Entity } from '../broker/entity.js';
import type { EntityKind } from '../broker/entity-options.js';
import type { RuleOptions } from '../filters/rule.js';
import { describeEntity, descriptionElements, readEntityOptions, serviceBusNamespace } from './entity-xml.js';
import { describeRule, readRuleXml } from './rule-xml.js';
import { childOf, escapeXml, parseXml, XmlError, type XmlElement } from '../../xml/xml.js';

export interface AdminEndpointParts {
  readonly broker: Broker;
  readonly now: () => number;
  readonly ensureWritable: () => void;
  readonly durable: () => Promise<void> | undefined;
  readonly onDeleted: (entities: readonly Entity[]) => void;
}

/** One request, its address read. */
interface AdminRequest {
  readonly method: string;
  /** Without slashes at either end. */
  readonly path: string;
  /** `https://<host>/`, the beginning of every id. */
  readonly base: string;
  readonly query: URLSearchParams;
  readonly isUpdate: boolean;
  readonly body: string;
}

interface AdminResponse {
  readonly status: number;
  readonly body: string;
}

/** What stands in a feed: the path is the id, from which the SDK takes the name. */
interface FeedItem {
  readonly path: string;
  readonly title: string;
  readonly content: string;
}

const statuses: Readonly<Record<BrokerErrorCode, number>> = {
  'entity-not-found': 404,
  'entity-exists': 409,
  'entity-disabled': 403,
  'message-lock-lost': 410,
  'message-not-found': 404,
  'session-lock-lost': 410,
  'session-cannot-be-locked': 410,
  'not-allowed': 400,
  'quota-exceeded': 403,
  'invalid-argument': 400,
};
const maxBodyBytes = 256 * 1024;
const defaultPageSize = 100;
const rulePath = /^(.+\/subscriptions\/[^/]+)\/rules(?:\/([^/]+))?$/i;
const subscriptionsPath = /^(.+)\/subscriptions$/i;

/** The REST API of `ServiceBusAdministrationClient`: Atom entries and feeds over HTTP. Every token is accepted. */
export class AdminEndpoint {
  readonly #parts: AdminEndpointParts;

  constructor(parts: AdminEndpointParts) {
    this.#parts = parts;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    this.#answer(request).then(
      ({ status, body }) => {
        const headers = {
          'content-type': 'application/atom+xml;type=entry;charset=utf-8',
          'content-length': Buffer.byteLength(body),
        };
        response.writeHead(status, headers).end(body);
      },
      (error: unknown) => response.destroy(error instanceof Error ? error : undefined),
    );
  }

  async #answer(request: IncomingMessage): Promise<AdminResponse> {
    try {
      const read = await readRequest(request);
      if (read.method !== 'GET') this.#parts.ensureWritable();
      const answer = this.#route(read);
      await this.#parts.durable();
      return answer;
    } catch (error) {
      if (error instanceof BrokerError) return failure(statuses[error.code], error.message);
      const isInvalidUrl = error instanceof URIError || (error instanceof TypeError && 'input' in error);
      if (error instanceof XmlError || isInvalidUrl) return failure(400, error.message);
      if (error instanceof JournalError) return failure(503, error.message);
      throw error;
    }
  }

  #route(request: AdminRequest): AdminResponse {
    const { path } = request;
    const lower = path.toLowerCase();
    if (lower === '$namespaceinfo') return this.#namespaceInfo(request);
    if (lower === '$resources/queues') return this.#list(request, 'queue');
    if (lower === '$resources/topics') return this.#list(request, 'topic');
    const rule = rulePath.exec(path);
    if (rule !== null) return this.#rules(request, this.#find(rule[1] ?? '', 'subscription'), rule[2]);
    const subscriptions = subscriptionsPath.exec(path);
    if (subscriptions !== null) return this.#list(request, 'subscription', this.#find(subscriptions[1] ?? '', 'topic'));
    switch (request.method) {
      case 'GET':
        return entry(200, request.base, entityItem(this.#find(path)));
      case 'PUT':
        return this.#put(request);
      case 'DELETE':
        this.#parts.onDeleted(this.#parts.broker.entities.delete(path));
        return { status: 200, body: '' };
      default:
        return failure(405, `The method ${request.method} is not offered. Use GET, PUT or DELETE.`);
    }
  }

  #find(path: string, kind?: EntityKind): Entity {
    const entity = this.#parts.broker.entities.get(path);
    if (entity !== undefined && (kind === undefined || entity.description.kind === kind)) return entity;
    throw new BrokerError('entity-not-found', `The messaging entity '${path}' could not be found.`);
  }

  #put(request: AdminRequest): AdminResponse {
    const { broker, now } = this.#parts;
    const content = childOf(parseXml(request.body), 'content');
    const description = content?.children[0];
    const kind = (Object.keys(descriptionElements) as EntityKind[]).find(
      (name) => descriptionElements[name] === description?.name,
    );
    if (description === undefined || kind === undefined) {
      return failure(
        400,
        'The body has no entity description. Send a QueueDescription, TopicDescription or SubscriptionDescription.',
      );
    }
    if (request.isUpdate) {
      const entity = this.#find(request.path, kind);
      broker.entities.update(entity, readEntityOptions(description, entity.settings), now());
      return entry(200, request.base, entityItem(entity));
    }
    const defaultRule = childOf(description, 'DefaultRuleDescription');
    const rules = defaultRule === undefined ? {} : { rules: [readRuleXml(defaultRule)] };
    const entity = broker.entities.create(
      { kind, path: request.path, options: readEntityOptions(description, {}), ...rules },
      now(),
    );
    return entry(201, request.base, entityItem(entity));
  }

  #list(request: AdminRequest, kind: EntityKind, topic?: Entity): AdminResponse {
    const all = topic === undefined ? this.#parts.broker.entities.all() : topic.subscriptions.values();
    const matching = [...all].filter((entity) => entity.description.kind === kind);
    return feed(request, matching.map(entityItem));
  }

  #rules(request: AdminRequest, subscription: Entity, name: string | undefined): AdminResponse {
    const { broker, now } = this.#parts;
    const item = (rule: RuleOptions): FeedItem => ({
      path: `${subscription.path}/Rules/${rule.name}`,
      title: rule.name,
      content: describeRule(rule, subscription.description.createdAtMs),
    });
    if (name === undefined) return feed(request, subscription.description.rules.map(item));
    if (request.method === 'PUT') {
      const rule = readRuleXml(ruleDescription(request.body), name);
      if (request.isUpdate) broker.entities.replaceRule(subscription, rule, now());
      else broker.entities.addRule(subscription, rule, now());
      return entry(request.isUpdate ? 200 : 201, request.base, item(rule));
    }
    if (request.method === 'DELETE') {
      broker.entities.removeRule(subscription, name, now());
      return { status: 200, body: '' };
    }
    const rule = subscription.rule(name);
    if (rule === undefined)
      throw new BrokerError('entity-not-found', `The messaging entity '${request.path}' could not be found.`);
    return entry(200, request.base, item(rule));
  }

  #namespaceInfo({ base }: AdminRequest): AdminResponse {
    const name = new URL(base).hostname;
    const time = new Date(0).toISOString();
    const content = `<NamespaceInfo xmlns="${serviceBusNamespace}"><CreatedTime>${time}</CreatedTime><MessagingSKU>Premium</MessagingSKU><MessagingUnits>1</MessagingUnits><ModifiedTime>${time}</ModifiedTime><Name>${escapeXml(name)}</Name><NamespaceType>Messaging</NamespaceType></NamespaceInfo>`;
    return entry(200, base, { path: '$namespaceinfo', title: name, content });
  }
}

async function readRequest(request: IncomingMessage): Promise<AdminRequest> {
  const base = `https://${request.headers.host ?? 'localhost'}/`;
  const url = new URL(request.url ?? '/', base);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > maxBodyBytes)
      throw new BrokerError('invalid-argument', `The body is longer than ${maxBodyBytes} bytes.`);
    chunks.push(chunk as Buffer);
  }
  return {
    method: request.method ?? 'GET',
    path: decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, ''),
    base,
    query: url.searchParams,
    isUpdate: request.headers['if-match'] === '*',
    body: Buffer.concat(chunks).toString('utf8'),
  };
}

function ruleDescription(body: string): XmlElement {
  const description = childOf(childOf(parseXml(body), 'content'), 'RuleDescription');
  if (description === undefined) throw new BrokerError('invalid-argument', 'The body has no RuleDescription.');
  return description;
}

function entityItem(entity: Entity): FeedItem {
  const title = parseAddress(entity.path)?.subscription ?? entity.path;
  return { path: entity.path, title, content: describeEntity(entity) };
}

/** The host in it is the client's. */
function escapeAttribute(text: string): string {
  return escapeXml(text).replaceAll('"', '&quot;');
}

function entryXml(base: string, { path, title, content }: FeedItem, attributes = ''): string {
  const id = escapeAttribute(base + path);
  return `<entry${attributes}><id>${id}</id><title type="text">${escapeXml(title)}</title><link rel="self" href="${id}"/><content type="application/xml">${content}</content></entry>`;
}

function entry(status: number, base: string, item: FeedItem): AdminResponse {
  return { status, body: entryXml(base, item, ' xmlns="http://www.w3.org/2005/Atom"') };
}

/** One page of items. The SDK finds the next page by the `$skip` of a link, and only if there is more than one link. */
function feed({ base, path, query }: AdminRequest, items: readonly FeedItem[]): AdminResponse {
  const skip = Number(query.get('$skip') ?? 0);
  const top = Math.min(Number(query.get('$top') ?? defaultPageSize), defaultPageSize);
  const page = items.slice(skip, skip + top);
  const self = escapeAttribute(`${base}${path}`);
  const next = skip + top < items.length ? `<link rel="next" href="${self}?$skip=${skip + top}&amp;$top=${top}"/>` : '';
  const entries = page.map((item) => entryXml(base, item)).join('');
  const body = `<feed xmlns="http://www.w3.org/2005/Atom"><id>${self}</id><title type="text">${escapeXml(path)}</title><link rel="self" href="${self}"/>${next}${entries}</feed>`;
  return { status: 200, body };
}

function failure(status: number, detail: string): AdminResponse {
  return { status, body: `<Error><Code>${status}</Code><Detail>${escapeXml(detail)}</Detail></Error>` };
}
