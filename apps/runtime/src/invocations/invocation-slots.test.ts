import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvocationSlots } from './invocation-slots.js';

describe('invocation slots', () => {
  it('find what was put, and nothing else, whatever comes and goes', () => {
    const steps = fc.array(fc.oneof(fc.constant('put' as const), fc.nat(50)), { maxLength: 200 });
    fc.assert(
      fc.property(steps, (list) => {
        const slots = new InvocationSlots<{ readonly id: string }>();
        const alive: string[] = [];
        const gone: string[] = [];
        for (const step of list) {
          if (step === 'put') {
            const id = slots.idFrom(randomUUID());
            slots.put({ id });
            alive.push(id);
          } else {
            const [id] = alive.splice(step % Math.max(1, alive.length), 1);
            if (id === undefined) continue;
            expect(slots.delete(id)).toBe(true);
            expect(slots.delete(id)).toBe(false);
            gone.push(id);
          }
          expect(slots.size).toBe(alive.length);
        }
        expect(
          slots
            .all()
            .map(({ id }) => id)
            .toSorted(),
        ).toEqual(alive.toSorted());
        for (const id of alive) expect(slots.get(id)?.id).toBe(id);
        for (const id of gone) expect(slots.get(id)).toBeUndefined();
      }),
    );
  });

  it('know nothing of ids that are not theirs', () => {
    const slots = new InvocationSlots<{ readonly id: string }>();
    slots.put({ id: slots.idFrom(randomUUID()) });
    for (const id of ['', 'unknown', '__proto__', '00000000', '-1', randomUUID()])
      expect(slots.get(id)).toBeUndefined();
  });

  it('keep the shape of a UUID', () => {
    const slots = new InvocationSlots<{ readonly id: string }>();
    expect(slots.idFrom('12345678-9abc-4def-8123-456789abcdef')).toBe('00000000-9abc-4def-8123-456789abcdef');
  });
});
