import type { IncomingHttpHeaders } from 'node:http';
import type { Randomness } from '@drover/service-kit';

const pattern = /^[\w.:-]{1,128}$/;

/** Returns the id that the client gave its request in `x-request-id`, if it is safe to repeat in logs and headers, or a new one. */
export function requestIdOf(headers: Readonly<IncomingHttpHeaders>, randomness: Pick<Randomness, 'uuid'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && pattern.test(given) ? given : randomness.uuid();
}
