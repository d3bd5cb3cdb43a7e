import type { BlobDownloadResponseParsed } from '@azure/storage-blob';

// Numbers of the enumerations in the .NET SDK, which the official host serializes.
const blobTypes: Readonly<Record<string, number>> = { BlockBlob: 0, PageBlob: 1, AppendBlob: 2 };
const leaseStates: Readonly<Record<string, number>> = { available: 0, leased: 1, expired: 2, breaking: 3, broken: 4 };
const leaseStatuses: Readonly<Record<string, number>> = { locked: 0, unlocked: 1 };

/** Returns the system properties of a blob in the names and values of the official host; unset ones are left out. */
export function blobProperties(response: BlobDownloadResponseParsed): Readonly<Record<string, unknown>> {
  const { contentMD5, lastModified, createdOn, blobType, leaseState, leaseStatus } = response;
  const properties: Record<string, unknown> = {
    LastModified: lastModified && withOffset(lastModified),
    CreatedOn: createdOn && withOffset(createdOn),
    BlobType: blobType && blobTypes[blobType],
    LeaseState: leaseState && leaseStates[leaseState],
    LeaseStatus: leaseStatus && leaseStatuses[leaseStatus],
    ContentLength: response.contentLength,
    ContentType: response.contentType,
    ETag: response.etag,
    ContentHash: contentMD5 && Buffer.from(contentMD5).toString('base64'),
    ContentEncoding: response.contentEncoding,
    ContentDisposition: response.contentDisposition,
    ContentLanguage: response.contentLanguage,
    CacheControl: response.cacheControl,
    AcceptRanges: response.acceptRanges,
    IsServerEncrypted: response.isServerEncrypted,
    VersionId: response.versionId,
    BlobSequenceNumber: response.blobSequenceNumber,
    BlobCommittedBlockCount: response.blobCommittedBlockCount,
    TagCount: response.tagCount,
    CopyId: response.copyId,
    CopySource: response.copySource,
    Metadata: response.metadata ?? {},
  };
  return Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== undefined && value !== ''));
}

/** Formats a time as the official host does: `2030-01-01T00:00:00+00:00`, with a fraction only if it has one. */
function withOffset(time: Date): string {
  return time.toISOString().replace(/(\.000)?Z$/, '+00:00');
}
