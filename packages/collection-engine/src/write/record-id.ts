import type { Randomness } from '@drover/service-kit';

/** Ids of one request with the same time: their count has twelve bits. */
const idsOfTime = 4_096;

/**
 * Returns what makes the id of the record at an index of a request: a UUID of version 7. Ids of one request ascend with the index, so
 * that its records are neighbours in the primary key, in their order.
 */
export function newRecordIds(nowMs: number, randomness: Pick<Randomness, 'uuid'>): (index: number) => string {
  let from = 0;
  let prefix = timePrefix(nowMs);
  return (index) => {
    if (index < from || index >= from + idsOfTime) {
      from = index - (index % idsOfTime);
      prefix = timePrefix(nowMs + from / idsOfTime);
    }
    const count = (0x7000 + index - from).toString(16); // the version, and the place among those of the same time
    const random = randomness.uuid(); // what follows its third hyphen is the variant of RFC 9562 and 62 random bits
    return `${prefix}${count}${random.slice(18)}`;
  };
}

function timePrefix(ms: number): string {
  const time = ms.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-`;
}
