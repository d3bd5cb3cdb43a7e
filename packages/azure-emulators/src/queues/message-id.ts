import { randomFillSync } from 'node:crypto';

const uuidBytes = 16;
const pool = Buffer.alloc(1024 * uuidBytes);
let used = pool.length;
const digits = Buffer.from('0123456789abcdef', 'latin1');
const text = Buffer.from('00000000-0000-4000-8000-000000000000', 'latin1');
/** Where the pairs of digits stand. */
const places = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const hyphen = 0x2d;

/**
 * Returns a random UUID (version 4) as one flat string: those of `randomUUID` are trees of pairs of digits that take 490 bytes each,
 * and a queue may hold a million.
 */
export function newMessageId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  for (const place of places) {
    const byte = pool[used++] ?? 0;
    text[place] = digits[byte >> 4] ?? hyphen;
    text[place + 1] = digits[byte & 15] ?? hyphen;
  }
  text[14] = 0x34; // version 4
  text[19] = digits[8 + ((text[19] ?? 0) & 3)] ?? hyphen; // variant 10xx
  return text.toString('latin1');
}
