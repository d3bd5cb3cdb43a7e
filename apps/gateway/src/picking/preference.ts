/**
 * Sorts endpoints: those of the same zone first, then by a hash of the key and their ids. So every gateway of a zone prefers the same
 * worker for a collection, different collections prefer different workers, and a change of the others changes the preferred one only
 * if the new one ranks higher.
 */
export function byPreference<E extends { readonly id: string; readonly zone?: string | undefined }>(
  key: string,
  endpoints: readonly E[],
  zone?: string,
): readonly E[] {
  if (endpoints.length < 2) return endpoints;
  const isFar = (endpoint: E): number => (zone === undefined || endpoint.zone === zone ? 0 : 1);
  const ranked = endpoints.map((endpoint) => ({ endpoint, far: isFar(endpoint), rank: rankOf(key, endpoint.id) }));
  return ranked.toSorted((a, b) => a.far - b.far || a.rank - b.rank).map(({ endpoint }) => endpoint);
}

/** FNV-1a, then mixed: ids of workers often differ in their last character only. */
function rankOf(key: string, id: string): number {
  let hash = 0x811c9dc5;
  for (const text of [key, id])
    for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
