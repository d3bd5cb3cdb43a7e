/**
 * Makes the records that maps of the protocol become. They inherit nothing, so that keys from the network (`__proto__`,
 * `constructor`) are keys like others, and a key that is not there is undefined.
 *
 * A constructor with an empty prototype, not Object.create(null): V8 gives the latter a hash table from the start, which
 * takes two and a half times as long to make and to walk through (README, figures).
 */
function NullRecord(): void {
  // makes an empty object
}
NullRecord.prototype = Object.freeze(Object.create(null));

/** An empty record that inherits nothing. */
// The compiler knows no way to say that a function is a constructor of records.
export const nullRecord = NullRecord as unknown as new <T>() => Record<string, T>;
