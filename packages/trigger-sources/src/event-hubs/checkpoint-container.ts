import type { ContainerClient } from '@azure/storage-blob';
import { storageConnection } from '../storage/storage-connection.js';

interface CheckpointContainerRequest {
  readonly functionName: string;
  readonly container: string;
  /** The NAME of a setting; undefined: the storage of the host. */
  readonly connection: string | undefined;
  readonly settings: Readonly<Record<string, string | undefined>>;
}

/** Resolves the connection now, and returns a function that opens the container and creates it if it is missing. */
export function openCheckpointContainer(request: CheckpointContainerRequest): () => Promise<ContainerClient> {
  const { functionName, container, connection, settings } = request;
  const found = storageConnection({ service: 'blob', functionName, connection, settings });
  return async () => {
    const { BlobServiceClient, StorageSharedKeyCredential } = await import('@azure/storage-blob');
    const options = { retryOptions: { maxTries: 2, retryDelayInMs: 200 } };
    const service =
      found.kind === 'shared-key'
        ? new BlobServiceClient(
            found.endpoint,
            new StorageSharedKeyCredential(found.account, found.key.reveal()),
            options,
          )
        : new BlobServiceClient(`${found.endpoint}${found.query.reveal()}`, found.credential, options);
    const client = service.getContainerClient(container);
    await client.createIfNotExists();
    return client;
  };
}
