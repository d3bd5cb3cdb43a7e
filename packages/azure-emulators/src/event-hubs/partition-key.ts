/**
 * Maps a partition key to a partition the way the buffered producer of the SDKs does on its side: Bob Jenkins' lookup3 over
 * the UTF-8 bytes with both seeds 0, its two words folded to a signed 16-bit number, modulo the partition count.
 */
export function partitionOfKey(key: string, partitionCount: number): number {
  const [b, c] = lookup3(Buffer.from(key));
  const folded = ((b ^ c) << 16) >> 16;
  return Math.abs(folded % partitionCount);
}

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/** hashlittle2: returns the secondary and the primary word. */
function lookup3(data: Buffer): readonly [b: number, c: number] {
  let a = (0xdeadbeef + data.length) | 0;
  let b = a;
  let c = a;
  let at = 0;
  while (data.length - at > 12) {
    a = (a + data.readUInt32LE(at)) | 0;
    b = (b + data.readUInt32LE(at + 4)) | 0;
    c = (c + data.readUInt32LE(at + 8)) | 0;
    a = (a - c) ^ rotate(c, 4);
    c = (c + b) | 0;
    b = (b - a) ^ rotate(a, 6);
    a = (a + c) | 0;
    c = (c - b) ^ rotate(b, 8);
    b = (b + a) | 0;
    a = (a - c) ^ rotate(c, 16);
    c = (c + b) | 0;
    b = (b - a) ^ rotate(a, 19);
    a = (a + c) | 0;
    c = (c - b) ^ rotate(b, 4);
    b = (b + a) | 0;
    at += 12;
  }
  if (at === data.length) return [b, c];
  // The last block, zero-padded: adding a zero byte changes nothing.
  const rest = Buffer.alloc(12);
  data.copy(rest, 0, at);
  a = (a + rest.readUInt32LE(0)) | 0;
  b = (b + rest.readUInt32LE(4)) | 0;
  c = (c + rest.readUInt32LE(8)) | 0;
  c = ((c ^ b) - rotate(b, 14)) | 0;
  a = ((a ^ c) - rotate(c, 11)) | 0;
  b = ((b ^ a) - rotate(a, 25)) | 0;
  c = ((c ^ b) - rotate(b, 16)) | 0;
  a = ((a ^ c) - rotate(c, 4)) | 0;
  b = ((b ^ a) - rotate(a, 14)) | 0;
  c = ((c ^ b) - rotate(b, 24)) | 0;
  return [b, c];
}
