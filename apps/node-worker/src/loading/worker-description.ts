import type { WorkerMetadataInit } from '@drover/function-rpc';

/** Returns the current metadata of the worker, including its programming model. */
export type WorkerDescription = () => WorkerMetadataInit;
