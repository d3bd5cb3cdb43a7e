import type { Randomness } from '@drover/service-kit';

/**
 * Returns the id of the record at `index` of a request: a UUID of version 7. Ids of one request ascend with the index, so that
 * its records are neighbours in the primary key, in their order.
 */
export function newRecordId(nowMs: number, index: number, randomness: Pick<Randomness, 'uuid'>): string {
  const time = (nowMs + Math.floor(index / 4_096)).toString(16).padStart(12, '0');
  const count = (index % 4_096).toString(16).padStart(3, '0');
  const random = randomness.uuid(); // what follows its third hyphen is the variant of RFC 9562 and 62 random bits
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${random.slice(19)}`;
}
