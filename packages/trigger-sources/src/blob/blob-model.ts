import type { BindingModel } from '../trigger-source.js';

/** Where a blob is, for an extension of a worker that creates its client. `connection` is the name of the setting. */
export function toBlobModel(connection: string | undefined, container: string, name: string): BindingModel {
  const content = { Connection: connection ?? 'AzureWebJobsStorage', ContainerName: container, BlobName: name };
  return {
    version: '1.0',
    source: 'AzureStorageBlobs',
    contentType: 'application/json',
    content: Buffer.from(JSON.stringify(content)),
  };
}
