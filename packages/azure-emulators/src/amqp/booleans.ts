/** The two-byte encoding of a boolean: 0x56 and a byte. */
const booleanCode = 0x56;

interface DecodedValue {
  readonly type: { readonly typecode: number };
  value: unknown;
}

/**
 * Makes booleans of all 0x56 values in what rhea has decoded. rhea reads them as the numbers 0 and 1, which are neither true nor
 * false to code that compares; the one-byte encodings 0x41 and 0x42 it reads as booleans. Call it on every decoded frame and
 * message before a field is read. Typed values are changed in place, and still encode as they were.
 */
export function readBooleans(decoded: unknown): void {
  if (Array.isArray(decoded)) {
    for (const item of decoded) readBooleans(item);
    return;
  }
  if (!isDecodedValue(decoded)) return;
  if (decoded.type.typecode === booleanCode) decoded.value = decoded.value === true || decoded.value === 1;
  else if (typeof decoded.value === 'object') readBooleans(decoded.value);
}

function isDecodedValue(value: unknown): value is DecodedValue {
  return typeof value === 'object' && value !== null && 'type' in value && 'value' in value;
}
