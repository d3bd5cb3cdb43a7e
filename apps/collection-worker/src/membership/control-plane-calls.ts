import { readFileSync } from 'node:fs';
import { collectionWorkerRoutes, createClient, type Client } from '@drover/contracts';
import { sendRequest } from '@drover/http-edge';
import type { Secret } from '@drover/service-kit';

export interface ControlPlaneAddress {
  readonly controlPlaneUrl: string | undefined;
  /** A file that holds the URL once the control plane is there. */
  readonly controlPlaneUrlFile: string | undefined;
  readonly workerJoinKey: Secret | undefined;
}

const { registerWorker, sendHeartbeat, deregisterWorker } = collectionWorkerRoutes;
const routes = { registerWorker, sendHeartbeat, deregisterWorker };
export type ControlPlaneCalls = Client<typeof routes>;

/** A heartbeat that takes longer than this is given up and sent again. */
const timeoutMs = 10_000;

/** Returns a function that returns the calls to the control plane, or undefined while its URL is not known. */
export function controlPlaneCalls(address: ControlPlaneAddress): () => ControlPlaneCalls | undefined {
  const { controlPlaneUrlFile: file, workerJoinKey } = address;
  const apiKey = workerJoinKey && { apiKey: workerJoinKey.reveal() };
  const clientOf = (url: string): ControlPlaneCalls =>
    createClient(routes, { url, ...apiKey, timeoutMs, fetch: sendRequest });
  if (address.controlPlaneUrl !== undefined || file === undefined) {
    const client = clientOf(address.controlPlaneUrl ?? '');
    return () => client;
  }
  // Read again for each call: a control plane that was started again may have another address.
  return () => {
    const url = readUrl(file);
    return url === '' ? undefined : clientOf(url);
  };
}

function readUrl(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return '';
  }
}
