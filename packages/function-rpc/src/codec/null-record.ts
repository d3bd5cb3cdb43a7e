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
