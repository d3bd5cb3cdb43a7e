/**
 * Stores values under short-lived ids. The slot index is part of the id, so a lookup is an array access. A Map with this many
 * insertions and deletions is rehashed often and keeps deleted entries alive until then.
 */
export class InvocationSlots<Value extends { readonly id: string }> {
  readonly #slots: (Value | undefined)[] = [];
  readonly #free: number[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Makes an id from a random UUID by replacing its first eight digits with the slot. The caller must `put` it next. */
  idFrom(uuid: string): string {
    const slot = this.#free.at(-1) ?? this.#slots.length;
    return slot.toString(16).padStart(slotDigits, '0') + uuid.slice(slotDigits);
  }

  put(value: Value): void {
    const slot = slotOf(value.id);
    if (this.#free.at(-1) === slot) this.#free.pop();
    this.#slots[slot] = value;
    this.#size += 1;
  }

  get(id: string): Value | undefined {
    const value = this.#slots[slotOf(id)];
    return value?.id === id ? value : undefined;
  }

  /** Returns false if the id is not stored. */
  delete(id: string): boolean {
    if (!this.get(id)) return false;
    const slot = slotOf(id);
    this.#slots[slot] = undefined;
    this.#free.push(slot);
    this.#size -= 1;
    return true;
  }

  /** Returns all values in slot order. */
  all(): Value[] {
    return this.#slots.filter((value) => value !== undefined);
  }
}

const slotDigits = 8;

/** NaN, which is no slot, for ids that were not made here. */
function slotOf(id: string): number {
  return Number.parseInt(id.slice(0, slotDigits), 16);
}
