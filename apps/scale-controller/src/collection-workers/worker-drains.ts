import { readFile } from 'node:fs/promises';
import { collectionWorkerRoutes, createClient, hasCode } from '@drover/contracts';
import type { Secret } from '@drover/service-kit';

interface ControlPlaneAddress {
  readonly controlPlaneUrl: string | undefined;
  /** A file that holds the URL once the control plane is there. */
  readonly controlPlaneUrlFile: string | undefined;
  readonly workerJoinKey: Secret | undefined;
}

const { deregisterWorker } = collectionWorkerRoutes;
const timeoutMs = 10_000;

/** Returns the call that asks the control plane to drain a worker. It rejects if the control plane is not there or refuses. */
export function workerDrains(address: ControlPlaneAddress): (workerId: string) => Promise<void> {
  const { controlPlaneUrl, controlPlaneUrlFile: file, workerJoinKey } = address;
  const apiKey = workerJoinKey && { apiKey: workerJoinKey.reveal() };
  return async (workerId) => {
    // Read for each call: a control plane that was started again may have another address.
    const url = controlPlaneUrl ?? (file === undefined ? undefined : await readAddress(file));
    if (url === undefined) throw new Error('CONTROL_PLANE_URL is not set. Set it to the address of the control plane.');
    const client = createClient({ deregisterWorker }, { url, ...apiKey, timeoutMs });
    try {
      await client.deregisterWorker({ params: { workerId }, query: {} });
    } catch (error) {
      if (!hasCode(error, 'WORKER_UNKNOWN')) throw error;
    }
  };
}

async function readAddress(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new Error('the control plane has not started yet', { cause: error });
  }
}
