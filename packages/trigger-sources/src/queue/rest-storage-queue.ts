import type { RestResponse, StorageRest } from '../storage/storage-rest.js';
import { wholeSeconds, type MessageHandle, type QueueMessage, type StorageQueue } from './storage-queue.js';

/** One queue through bare requests: the same operations as `AzureStorageQueue`, without the SDK. */
export class RestStorageQueue implements StorageQueue {
  readonly name: string;
  readonly address: string;
  readonly isNear: boolean;
  readonly #rest: StorageRest;
  readonly #path: string;
  readonly #messages: string;

  constructor(name: string, address: string, rest: StorageRest) {
    this.name = name;
    this.address = address;
    this.isNear = rest.isNear;
    this.#rest = rest;
    this.#path = `/${encodeURIComponent(name)}`;
    this.#messages = `${this.#path}/messages`;
  }

  receive: StorageQueue['receive'] = async ({ count, leaseMs }, signal) => {
    const query = [
      ['numofmessages', `${count}`],
      ['visibilitytimeout', `${wholeSeconds(leaseMs)}`],
    ] as const;
    return messagesOf(await this.#rest.send({ method: 'GET', path: this.#messages, query }, signal)).map(toMessage);
  };

  hide: StorageQueue['hide'] = async (handle, forMs, signal) => {
    const query = [
      ['popreceipt', handle.popReceipt],
      ['visibilitytimeout', `${wholeSeconds(forMs)}`],
    ] as const;
    // Without a text the service keeps the text of the message.
    const { headers } = await this.#rest.send({ method: 'PUT', path: this.#message(handle), query }, signal);
    const popReceipt = headers['x-ms-popreceipt'];
    if (typeof popReceipt !== 'string') throw notUnderstood('a pop receipt');
    return { id: handle.id, popReceipt };
  };

  remove: StorageQueue['remove'] = async (handle, signal) => {
    const query = [['popreceipt', handle.popReceipt]] as const;
    await this.#rest.send({ method: 'DELETE', path: this.#message(handle), query }, signal);
  };

  send: StorageQueue['send'] = async (text, { keep }, signal) => {
    const body = `<?xml version="1.0" encoding="utf-8"?><QueueMessage><MessageText>${escapeXml(text)}</MessageText></QueueMessage>`;
    const query = keep === 'for-ever' ? ([['messagettl', '-1']] as const) : [];
    await this.#rest.send({ method: 'POST', path: this.#messages, query, body }, signal);
  };

  create: StorageQueue['create'] = async (signal) => {
    try {
      await this.#rest.send({ method: 'PUT', path: this.#path }, signal);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== 'QueueAlreadyExists') throw error; // with other metadata
    }
  };

  peek: StorageQueue['peek'] = async (signal) => {
    const query = [
      ['numofmessages', '1'],
      ['peekonly', 'true'],
    ] as const;
    const [message] = messagesOf(await this.#rest.send({ method: 'GET', path: this.#messages, query }, signal));
    return message === undefined ? undefined : { insertedOn: dateIn(message, 'InsertionTime') };
  };

  count: StorageQueue['count'] = async (signal) => {
    const query = [['comp', 'metadata']] as const;
    const { headers } = await this.#rest.send({ method: 'GET', path: this.#path, query }, signal);
    const count = headers['x-ms-approximate-messages-count'];
    if (typeof count !== 'string') throw notUnderstood('the number of messages');
    return Number(count);
  };

  #message({ id }: MessageHandle): string {
    return `${this.#messages}/${encodeURIComponent(id)}`;
  }
}

/** Classified as unavailable: a proxy or another service answers at this address. */
const notUnderstood = (what: string): Error => new Error(`the response holds no ${what}: not a storage queue service`);

/** The XML of each message. Texts are escaped, so a tag is always markup. */
function messagesOf({ body }: RestResponse): string[] {
  if (!body.includes('<QueueMessagesList')) throw notUnderstood('list of messages');
  return body.split('<QueueMessage>').slice(1);
}

const toMessage = (xml: string): QueueMessage => ({
  id: textIn(xml, 'MessageId'),
  popReceipt: textIn(xml, 'PopReceipt'),
  text: unescapeXml(textIn(xml, 'MessageText')),
  dequeueCount: Number(textIn(xml, 'DequeueCount')),
  insertedOn: dateIn(xml, 'InsertionTime'),
  expiresOn: dateIn(xml, 'ExpirationTime'),
  nextVisibleOn: dateIn(xml, 'TimeNextVisible'),
});

/** The text of an element, entities as they are; empty if the element is, as in `<MessageText />`. */
function textIn(xml: string, element: string): string {
  const start = xml.indexOf(`<${element}>`);
  if (start < 0) {
    if (new RegExp(`<${element}\\s*/>`).test(xml)) return '';
    throw notUnderstood(element);
  }
  const from = start + element.length + 2;
  return xml.slice(from, xml.indexOf(`</${element}>`, from));
}

const dateIn = (xml: string, element: string): Date => new Date(textIn(xml, element));

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#xD;' };

/** A bare carriage return would arrive as a line feed. */
const escapeXml = (text: string): string => text.replace(/[&<>\r]/g, (character) => escapes[character] ?? '');

const named: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function unescapeXml(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(
    /&(?:#x([0-9a-f]+)|#([0-9]+)|([a-z]+));/gi,
    (whole, hex?: string, decimal?: string, name?: string) => {
      if (name !== undefined) return named[name] ?? whole;
      return String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16));
    },
  );
}
