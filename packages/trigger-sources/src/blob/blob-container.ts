import { classifyStorageError, storageReason, type StorageFailure } from '../storage/storage-failure.js';

/** The containers of one account. No request is sent before the first call on a container. */
export interface BlobAccount {
  /** The setting with its connection, for error messages. */
  readonly setting: string;
  /** Address of the account; holds no secret. */
  readonly endpoint: string;
  container(name: string): BlobContainer;
}

/** Every method may reject with an error that `blobFailureOf` classifies; none retries. */
export interface BlobContainer {
  readonly name: string;
  /** Identifies the container across accounts. Holds no secret. */
  readonly address: string;
  /** Lists blobs in the order of their names. */
  list(request: BlobListRequest, signal: AbortSignal): Promise<BlobPage>;
  /** Opens a blob, of this version if `etag` is given. The caller must call `read` or `cancel`. */
  open(name: string, etag: string | undefined, signal: AbortSignal): Promise<OpenBlob>;
  /** Creates or replaces a block blob. Resolves with its version. */
  upload(name: string, body: string | Uint8Array, contentType: string, signal: AbortSignal): Promise<BlobVersion>;
  /** Succeeds if the container exists. */
  create(signal: AbortSignal): Promise<void>;
}

export interface BlobListRequest {
  readonly prefix: string;
  /** `next` of the page before. */
  readonly marker: string | undefined;
  readonly count: number;
}

export interface BlobPage {
  readonly blobs: readonly BlobVersion[];
  /** Undefined for the last page. */
  readonly next: string | undefined;
  /** Time of the service when it answered; whole seconds. */
  readonly servedAt: number;
}

/** One version of a blob. */
export interface BlobVersion {
  readonly name: string;
  readonly etag: string;
  /** Set by the service with every write; whole seconds. */
  readonly modifiedAt: number;
  readonly type: BlobType;
}

/** What an output tells the listeners of its process. */
export class WrittenBlob {
  readonly version: BlobVersion;

  constructor(version: BlobVersion) {
    this.version = version;
  }
}

export type BlobType = 'BlockBlob' | 'PageBlob' | 'AppendBlob';

export interface OpenBlob {
  readonly size: number;
  /** System properties by the names of the official host. */
  readonly properties: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly uri: string;
  read(): Promise<Uint8Array>;
  cancel(): void;
}

/**
 * - container-missing: the container does not exist
 * - blob-missing: the blob does not exist
 * - changed: the blob has another version
 */
export type BlobFailure = StorageFailure | 'container-missing' | 'blob-missing' | 'changed';

const failuresByCode: Readonly<Record<string, BlobFailure>> = {
  ContainerNotFound: 'container-missing',
  ContainerBeingDeleted: 'container-missing',
  ContainerDisabled: 'container-missing',
  BlobNotFound: 'blob-missing',
  // The blob is in the archive tier: it has content again when it was rehydrated, which makes another version.
  BlobArchived: 'refused',
  ConditionNotMet: 'changed',
};

export function blobFailureOf(error: unknown): BlobFailure {
  return classifyStorageError(error, failuresByCode);
}

/** Describes the error of a request, for the message of an error. */
export function blobReason(error: unknown, setting: string): string {
  return storageReason(error, blobFailureOf(error), setting);
}
