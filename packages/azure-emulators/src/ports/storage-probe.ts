/** Header of the request that finds out whether a storage emulator listens at a port. Other emulators ignore it. */
export const storageProbeHeader = 'x-drover-probe';

/** Any request without credentials would do: every storage service answers with a header of its own. */
export const storageProbePath = '/devstoreaccount1?comp=list';

/** What a service answers that does not want to start for a probe. */
export const probeAnswer =
  'HTTP/1.1 403 Forbidden\r\nx-ms-request-id: probe\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

/** Tells a probe by the first bytes of a connection. */
export function isStorageProbe(first: Buffer): boolean {
  const head = first.toString('latin1', 0, 1_024);
  return head.startsWith(`GET ${storageProbePath} `) && head.toLowerCase().includes(`\r\n${storageProbeHeader}:`);
}
