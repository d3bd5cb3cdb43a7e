import rhea, { type Typed } from 'rhea';

/** A performative of rhea: its fields in order, without those behind the last one that was set. */
export interface RheaPerformative {
  readonly value: (Typed | undefined)[];
  readonly constructor: { readonly descriptor?: { readonly numeric: number } };
}

const { types } = rhea;
const absent = (): Typed => (types as unknown as { wrap(value: null): Typed }).wrap(null); // left out of rhea's typings
const no = (): Typed => types.wrap_boolean(false);
const largest = (): Typed => types.wrap_uint(0xffff_ffff);

const attachFields: readonly (() => Typed)[] = Array.from({ length: 14 }, (_, index) => {
  if (index === 3) return () => types.wrap_ubyte(2); // settled and unsettled deliveries
  if (index === 4) return () => types.wrap_ubyte(0); // the receiver settles first
  return index === 8 ? no : absent;
});

/** The default of each field, by performative. */
const performatives = new Map<number, readonly (() => Typed)[]>([
  [0x10, [absent, absent, largest, () => types.wrap_ushort(0xffff), ...Array(6).fill(absent)]], // open
  [0x11, [absent, absent, absent, absent, largest, ...Array(3).fill(absent)]], // begin
  [0x12, attachFields],
  [0x13, [...Array(8).fill(absent), no, no, absent]], // flow
  [0x15, [absent, absent, absent, no, absent, no]], // disposition
  [0x16, [absent, no, absent]], // detach
  [0x17, [absent]], // end
  [0x18, [absent]], // close
]);

/** Field counts of `source` and `target`, and their places in an attach. */
const termini = [
  { field: 5, count: 11 },
  { field: 6, count: 7 },
] as const;
const attachCode = 0x12;

/**
 * Writes every field of a frame. AMQP lets a sender leave out fields at the end of a list, and rhea does; the Event Hubs SDK for
 * Python reads fields by their index and fails on a shorter list. An absent field gets the default of the specification.
 */
export function completeFrame(performative: RheaPerformative): void {
  const code = performative.constructor.descriptor?.numeric;
  const fields = code === undefined ? undefined : performatives.get(code);
  if (!fields) return;
  for (const [index, byDefault] of fields.entries()) performative.value[index] ??= byDefault();
  if (code !== attachCode) return;
  for (const { field, count } of termini) {
    const terminus = performative.value[field];
    if (!Array.isArray(terminus?.value)) continue;
    // A new list: rhea's empty lists all share one array.
    const items: unknown[] = [...terminus.value];
    for (let index = 0; index < count; index += 1) items[index] ??= absent();
    performative.value[field] = Object.assign(types.wrap_list(items), {
      descriptor: (terminus as { descriptor?: unknown }).descriptor,
    });
  }
}
