/**
 * Which requests a worker has begun with, written so that it can be read when the worker is dead, whatever killed it: a
 * table of ids by slot, in shared memory between threads, in an unlinked file between processes. A slot that was taken by a
 * later request says nothing about the earlier one, which then counts as begun.
 */
export const journalSlots = 1_024;
export const journalBytes = journalSlots * 4;

export function slotOf(id: number): number {
  return id % journalSlots;
}

/** What the table says about `id`: its own number means begun, an older one or none means not. */
export function readJournal(table: Int32Array, id: number): boolean {
  const found = Atomics.load(table, slotOf(id));
  // As a difference, since ids outgrow the slots of a worker that lives long.
  return found !== 0 && ((found - id) | 0) >= 0;
}
