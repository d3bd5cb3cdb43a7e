/** What is sent there and back, and how many at a time. */
export interface Load {
  readonly name: LoadName;
  readonly payload: unknown;
  readonly inFlight: number;
}

const mebibyte = 1_048_576;
const tiny = { id: 7, name: 'tiny' };

export const text = (mebibytes: number): string => 'abcdefghijklmnop'.repeat((mebibytes * mebibyte) / 16);

/** About 1 MiB as JSON. */
function rows(): object[] {
  return Array.from({ length: 9_000 }, (_, id) => ({
    id,
    name: `customer ${id}`,
    email: `c${id}@example.com`,
    active: id % 3 === 0,
    balance: id * 1.25,
    tags: ['new', 'retail'],
  }));
}

export const loads: readonly Load[] = [
  { name: 'tiny, 1 in flight', payload: tiny, inFlight: 1 },
  { name: 'tiny, 64 in flight', payload: tiny, inFlight: 64 },
  { name: '1 MiB string', payload: text(1), inFlight: 1 },
  { name: '1 MiB of rows', payload: rows(), inFlight: 1 },
];

export type LoadName = 'tiny, 1 in flight' | 'tiny, 64 in flight' | '1 MiB string' | '1 MiB of rows';
