import type { ContainerClient } from '@azure/storage-blob';
import { withApiVersion } from '../storage/api-version.js';
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
    const { BlobServiceClient, newPipeline, StorageSharedKeyCredential } = await import('@azure/storage-blob');
    const credential =
      found.kind === 'uri' ? found.credential : new StorageSharedKeyCredential(found.account, found.key.reveal());
    const pipeline = newPipeline(credential, { retryOptions: { maxTries: 1 } });
    pipeline.factories.push(withApiVersion);
    const query = found.kind === 'uri' && found.query.reveal();
    const service = new BlobServiceClient(`${found.endpoint}${query ? `?${query}` : ''}`, pipeline);
    const client = service.getContainerClient(container);
    await client.createIfNotExists();
    return client;
  };
}
