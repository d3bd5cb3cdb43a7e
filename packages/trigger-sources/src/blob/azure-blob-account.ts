import type { BlobDownloadResponseParsed, BlobServiceClient, ContainerClient } from '@azure/storage-blob';
import { sdkCall } from '../storage/sdk-call.js';
import { sdkClient } from '../storage/sdk-client.js';
import type { StorageConnection } from '../storage/storage-connection.js';
import type { BlobAccount, BlobContainer, OpenBlob } from './blob-container.js';
import { blobProperties } from './blob-properties.js';

/** Blobs through the Azure SDK. The SDK is loaded at the first call: it takes a third of a second, and few processes need it. */
export class AzureBlobAccount implements BlobAccount {
  readonly setting: string;
  readonly endpoint: string;
  readonly #connection: StorageConnection;
  #service: Promise<BlobServiceClient> | undefined;

  constructor(connection: StorageConnection) {
    this.setting = connection.setting;
    this.endpoint = connection.endpoint;
    this.#connection = connection;
  }

  container(name: string): BlobContainer {
    let client: Promise<ContainerClient> | undefined;
    return new AzureBlobContainer(name, `${this.endpoint}/${name}`, () => {
      client ??= this.#open().then((service) => service.getContainerClient(name));
      return client;
    });
  }

  #open(): Promise<BlobServiceClient> {
    this.#service ??= import('@azure/storage-blob').then((sdk) =>
      sdkClient(sdk, this.#connection, (url, pipeline) => new sdk.BlobServiceClient(url, pipeline)),
    );
    return this.#service;
  }
}

class AzureBlobContainer implements BlobContainer {
  readonly name: string;
  readonly address: string;
  readonly #client: () => Promise<ContainerClient>;

  constructor(name: string, address: string, client: () => Promise<ContainerClient>) {
    this.name = name;
    this.address = address;
    this.#client = client;
  }

  list: BlobContainer['list'] = ({ prefix, marker, count }, signal) =>
    this.#call(signal, async (client) => {
      const pages = client
        .listBlobsFlat({ abortSignal: signal, ...(prefix !== '' && { prefix }) })
        .byPage({ maxPageSize: count, ...(marker !== undefined && { continuationToken: marker }) });
      const { value: page, done } = await pages.next();
      if (done === true) return { blobs: [], next: undefined, servedAt: 0 };
      return {
        blobs: page.segment.blobItems.map(({ name, properties }) => ({
          name,
          etag: quoted(properties.etag),
          modifiedAt: properties.lastModified.getTime(),
          type: properties.blobType ?? 'BlockBlob',
        })),
        next: page.continuationToken || undefined,
        servedAt: (page.date ?? new Date(0)).getTime(),
      };
    });

  open: BlobContainer['open'] = (name, etag, signal) =>
    this.#call(signal, async (client) => {
      const blob = client.getBlobClient(name);
      const conditions = etag === undefined ? {} : { conditions: { ifMatch: etag } };
      // No reconnects of the SDK in the middle: a caller that retries opens the blob again.
      const response = await blob.download(0, undefined, { abortSignal: signal, maxRetryRequests: 0, ...conditions });
      return opened(response, `${this.address}/${name.split('/').map(encodeURIComponent).join('/')}`, signal);
    });

  upload: BlobContainer['upload'] = (name, body, contentType, signal) =>
    this.#call(signal, async (client) => {
      const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body;
      const { etag = '', lastModified } = await client.getBlockBlobClient(name).upload(bytes, bytes.byteLength, {
        abortSignal: signal,
        blobHTTPHeaders: { blobContentType: contentType },
      });
      return { name, etag: quoted(etag), modifiedAt: lastModified?.getTime() ?? 0, type: 'BlockBlob' };
    });

  create: BlobContainer['create'] = (signal) =>
    this.#call(signal, async (client) => {
      await client.createIfNotExists({ abortSignal: signal });
    });

  async #call<T>(signal: AbortSignal, act: (client: ContainerClient) => Promise<T>): Promise<T> {
    const client = await this.#client();
    return await sdkCall(signal, () => act(client));
  }
}

function opened(response: BlobDownloadResponseParsed, uri: string, signal: AbortSignal): OpenBlob {
  const { contentLength: size = 0, metadata = {}, readableStreamBody: stream } = response;
  return {
    size,
    properties: blobProperties(response),
    metadata,
    uri,
    read: () =>
      sdkCall(signal, async () => {
        // Allocated at once: concatenating chunks would hold the content twice.
        const content = Buffer.allocUnsafe(size);
        let filled = 0;
        for await (const chunk of stream ?? []) {
          const bytes = Buffer.from(chunk);
          if (filled + bytes.byteLength > size) throw new Error(`the service sent more than ${size} bytes`);
          bytes.copy(content, filled);
          filled += bytes.byteLength;
        }
        if (filled < size) throw new Error(`the service sent ${filled} of ${size} bytes`);
        return content;
      }),
    cancel: () => {
      if (stream && 'destroy' in stream && typeof stream.destroy === 'function') {
        stream.once('error', () => undefined);
        stream.destroy();
      }
    },
  };
}

/** Listings have ETags without quotes, all other responses and conditions have them with quotes. */
function quoted(etag: string): string {
  return etag.startsWith('"') ? etag : `"${etag}"`;
}
