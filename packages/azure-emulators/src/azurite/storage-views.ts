import { attributeOf, childOf, parseXml, type XmlElement } from '../xml/xml.js';
import { getFromAzurite } from './azurite-client.js';
import type { StorageView } from '../storage-view.js';
import type { AzuriteService } from './azurite-service.js';

const pageSize = 50;
/** More of a blob is not shown. */
const shownBytes = 4_096;

export class BlobView implements StorageView {
  readonly kind = 'blob';
  readonly #service: AzuriteService;

  constructor(service: AzuriteService) {
    this.#service = service;
  }

  get state(): AzuriteService['state'] {
    return this.#service.state;
  }

  async names(): Promise<readonly string[]> {
    const { text } = await this.#get('', { comp: 'list', maxresults: '1000' });
    return elements(childOf(parseXml(text), 'Containers'), 'Container').map(nameOf);
  }

  async items(container: string, after: string | undefined): ReturnType<StorageView['items']> {
    const query = { restype: 'container', comp: 'list', maxresults: String(pageSize), ...(after && { marker: after }) };
    const root = parseXml((await this.#get(`/${encodeURIComponent(container)}`, query)).text);
    const items = elements(childOf(root, 'Blobs'), 'Blob').map((blob) => {
      const properties = childOf(blob, 'Properties');
      const modified = childOf(properties, 'Last-Modified')?.text ?? '';
      return { name: nameOf(blob), bytes: Number(childOf(properties, 'Content-Length')?.text ?? 0), modified };
    });
    const next = childOf(root, 'NextMarker')?.text;
    return { items, ...(next && { next }) };
  }

  async content(container: string, blob: string): Promise<string> {
    const path = [container, ...blob.split('/')].map(encodeURIComponent).join('/');
    return (await this.#get(`/${path}`, {}, { 'x-ms-range': `bytes=0-${shownBytes - 1}` })).text;
  }

  async #get(path: string, query: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) {
    return getFromAzurite({ kind: 'blob', port: await this.#service.backendPort(), path, query, headers });
  }
}

function elements(parent: XmlElement | undefined, name: string): readonly XmlElement[] {
  return parent?.children.filter((child) => child.name === name) ?? [];
}

/** A name with characters that XML cannot hold is percent-encoded, and says so. */
function nameOf(element: XmlElement): string {
  const name = childOf(element, 'Name');
  const text = name?.text ?? '';
  return attributeOf(name, 'Encoded') === 'true' ? decodeURIComponent(text) : text;
}

export class TableView implements StorageView {
  readonly kind = 'table';
  readonly #service: AzuriteService;

  constructor(service: AzuriteService) {
    this.#service = service;
  }

  get state(): AzuriteService['state'] {
    return this.#service.state;
  }

  async names(): Promise<readonly string[]> {
    const { text } = await this.#get('/Tables', {});
    return (JSON.parse(text) as { value: { TableName: string }[] }).value.map(({ TableName }) => TableName);
  }

  async items(table: string, after: string | undefined): ReturnType<StorageView['items']> {
    const query = { $top: String(pageSize), ...(after && (JSON.parse(after) as Record<string, string>)) };
    const { text, headers } = await this.#get(`/${encodeURIComponent(table)}()`, query);
    const items = (JSON.parse(text) as { value: Record<string, unknown>[] }).value.map((entity) => {
      const { PartitionKey, RowKey, Timestamp, ...properties } = entity;
      const name = `${String(PartitionKey)} / ${String(RowKey)}`;
      return { name, modified: String(Timestamp), text: JSON.stringify(properties) };
    });
    const partition = headers.get('x-ms-continuation-nextpartitionkey');
    const row = headers.get('x-ms-continuation-nextrowkey');
    const next =
      partition === null ? undefined : JSON.stringify({ NextPartitionKey: partition, ...(row && { NextRowKey: row }) });
    return { items, ...(next && { next }) };
  }

  content(): Promise<string> {
    return Promise.reject(new Error('Entities of a table are shown with all their properties.'));
  }

  async #get(path: string, query: Readonly<Record<string, string>>) {
    const headers = { accept: 'application/json;odata=nometadata' };
    return getFromAzurite({ kind: 'table', port: await this.#service.backendPort(), path, query, headers });
  }
}
