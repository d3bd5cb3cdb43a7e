/** A number for the pair that is the same everywhere and even over all pairs: the lowest of several workers wins a tie. */
export function rendezvousRank(collectionId: string, workerId: string): number {
  let hash = 0x811c9dc5; // FNV-1a, then mixed: names of workers often differ in their last character only
  for (const text of [collectionId, '\n', workerId])
    for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
