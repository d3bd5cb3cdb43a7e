/**
 * Values under short-lived ids. The place of each is part of its id, so nothing is looked up in a table that grows and
 * shrinks with every one of them: such tables keep much alive for longer than it lives.
 */
export class InvocationSlots<Value extends { readonly id: string }> {
  readonly #slots: (Value | undefined)[] = [];
  readonly #free: number[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** A new id from a random UUID: its first eight digits become the place. It must be put right after. */
  idFrom(uuid: string): string {
    const slot = this.#free.at(-1) ?? this.#slots.length;
    return slot.toString(16).padStart(placeDigits, '0') + uuid.slice(placeDigits);
  }

  put(value: Value): void {
    const slot = placeOf(value.id);
    if (this.#free.at(-1) === slot) this.#free.pop();
    this.#slots[slot] = value;
    this.#size += 1;
  }

  get(id: string): Value | undefined {
    const value = this.#slots[placeOf(id)];
    return value?.id === id ? value : undefined;
  }

  /** False when it was not there. */
  delete(id: string): boolean {
    if (!this.get(id)) return false;
    const slot = placeOf(id);
    this.#slots[slot] = undefined;
    this.#free.push(slot);
    this.#size -= 1;
    return true;
  }

  /** All of them, in no order; what is deleted meanwhile may be missing. */
  all(): Value[] {
    return this.#slots.filter((value) => value !== undefined);
  }
}

const placeDigits = 8;

/** Not a number, and so nobody's place, for ids that are not ours. */
function placeOf(id: string): number {
  return Number.parseInt(id.slice(0, placeDigits), 16);
}
