import type { ProtoReader } from './reader.js';
import type { ProtoWriter } from './writer.js';

/**
 * Creates the records that represent maps of the protocol. They inherit nothing, so that keys from the network such as
 * `__proto__` and `constructor` are ordinary keys, and a missing key is undefined.
 *
 * A constructor with an empty prototype, not Object.create(null): V8 stores the latter as a hash table from the start, which
 * takes 2.5 times as long to create and to iterate (README, measurements).
 */
function NullRecord(): void {
  // creates an empty object
}
NullRecord.prototype = Object.freeze(Object.create(null));

/** An empty record that inherits nothing. */
// The compiler cannot express that a function is a constructor of records.
export const nullRecord = NullRecord as unknown as new <T>() => Record<string, T>;

/** The field numbers of map entries. */
export const entryFields: readonly number[] = [1, 2];

const keyTag = 10;
const valueTag = 18;
const numberTag = 16;

/** Writes a map of strings. Omits undefined values. */
export function writeStringMap(
  writer: ProtoWriter,
  tag: number,
  map: Readonly<Record<string, string | undefined>>,
  place: number,
): void {
  for (const key of Object.keys(map)) {
    const value = map[key];
    if (value == null) continue;
    const start = writer.open(tag, place);
    writer.string(keyTag, key);
    writer.string(valueTag, value);
    writer.close(start, place);
  }
}

/** Writes a map of enumeration values. */
export function writeInt32Map(
  writer: ProtoWriter,
  tag: number,
  map: Readonly<Record<string, number>>,
  place: number,
): void {
  for (const [key, value] of Object.entries(map)) {
    const start = writer.open(tag, place);
    writer.string(keyTag, key);
    writer.int32(numberTag, value);
    writer.close(start, place);
  }
}

/** Writes a map of booleans. */
export function writeBoolMap(
  writer: ProtoWriter,
  tag: number,
  map: Readonly<Record<string, boolean>>,
  place: number,
): void {
  for (const [key, value] of Object.entries(map)) {
    const start = writer.open(tag, place);
    writer.string(keyTag, key);
    writer.bool(numberTag, value);
    writer.close(start, place);
  }
}

/** Reads one entry of a map of strings into `into`. */
export function readStringEntry(reader: ProtoReader, end: number, into: Record<string, string>): void {
  let key = '';
  let value = '';
  while (reader.position < end) {
    const tag = reader.tag();
    if (tag === keyTag) key = reader.string(end);
    else if (tag === valueTag) value = reader.string(end);
    else reader.skip(tag, end, entryFields);
  }
  reader.leave(end);
  into[key] = value;
}

/** Reads one entry of a map of enumeration values into `into`. */
export function readInt32Entry(reader: ProtoReader, end: number, into: Record<string, number>): void {
  let key = '';
  let value = 0;
  while (reader.position < end) {
    const tag = reader.tag();
    if (tag === keyTag) key = reader.string(end);
    else if (tag === numberTag) value = reader.int32();
    else reader.skip(tag, end, entryFields);
  }
  reader.leave(end);
  into[key] = value;
}

/** Reads one entry of a map of booleans into `into`. */
export function readBoolEntry(reader: ProtoReader, end: number, into: Record<string, boolean>): void {
  let key = '';
  let value = false;
  while (reader.position < end) {
    const tag = reader.tag();
    if (tag === keyTag) key = reader.string(end);
    else if (tag === numberTag) value = reader.bool();
    else reader.skip(tag, end, entryFields);
  }
  reader.leave(end);
  into[key] = value;
}
