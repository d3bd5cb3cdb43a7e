import { withApiVersion } from './api-version.js';
import type { StorageConnection, StorageCredential } from './storage-connection.js';

/** What the SDKs of queues and blobs have in common. */
interface StorageSdk<SharedKey, Pipeline> {
  readonly StorageSharedKeyCredential: new (account: string, key: string) => SharedKey;
  newPipeline(
    credential: SharedKey | StorageCredential | undefined,
    options: { readonly retryOptions: { readonly maxTries: number } },
  ): Pipeline;
}

/** Creates the client of a storage service. It makes one attempt: the callers retry with their own deadlines and observations. */
export function sdkClient<SharedKey, Pipeline extends { readonly factories: object[] }, Client>(
  sdk: StorageSdk<SharedKey, Pipeline>,
  connection: StorageConnection,
  create: (url: string, pipeline: Pipeline) => Client,
): Client {
  const credential =
    connection.kind === 'uri'
      ? connection.credential
      : new sdk.StorageSharedKeyCredential(connection.account, connection.key.reveal());
  const pipeline = sdk.newPipeline(credential, { retryOptions: { maxTries: 1 } });
  pipeline.factories.push(withApiVersion);
  const query = connection.kind === 'uri' ? connection.query.reveal() : '';
  return create(`${connection.endpoint}${query && `?${query}`}`, pipeline);
}
