import type { WorkerMetadataInit } from '@drover/function-rpc';

/** What the worker says of itself, its programming model included, at the moment it is asked. */
export type WorkerDescription = () => WorkerMetadataInit;
