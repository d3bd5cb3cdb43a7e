import type { PushedEvent } from '../event-grid/read-events.js';

const createdTypes: ReadonlySet<string> = new Set(['microsoft.storage.blobcreated', 'microsoft.storage.blobrenamed']);
const subjectPattern = /^\/blobServices\/[^/]+\/containers\/([^/]+)\/blobs\/(.+)$/i;

/** Returns the blob that an event of a storage account reports as written; undefined for every other event. */
export function createdBlob(event: PushedEvent): { readonly container: string; readonly name: string } | undefined {
  // In the schema of Event Grid, or as a CloudEvent.
  const type = event['eventType'] ?? event['type'];
  if (typeof type !== 'string' || !createdTypes.has(type.toLowerCase())) return undefined;
  const { subject } = event;
  const [, container, name] = typeof subject === 'string' ? (subjectPattern.exec(subject) ?? []) : [];
  return container === undefined || name === undefined ? undefined : { container, name };
}
