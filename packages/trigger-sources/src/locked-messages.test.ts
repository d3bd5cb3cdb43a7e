import { describe, expect, it } from 'vitest';
import { LockedMessages, type LockedMessage, type LockedSession } from './locked-messages.js';

const message = {} as LockedMessage; // only its identity matters here
const session = (): LockedSession => ({}) as LockedSession;

describe('locked messages', () => {
  it('are found by their lock token in any case until their run ends', () => {
    const locked = new LockedMessages();
    locked.add('3F2504E0-4F89-41D3-9A0C-0305E82C3301', message);
    expect(locked.message('3f2504e0-4f89-41d3-9a0c-0305e82c3301')).toBe(message);
    locked.remove('3f2504e0-4F89-41d3-9a0c-0305e82c3301');
    expect(() => locked.message('3f2504e0-4f89-41d3-9a0c-0305e82c3301')).toThrow(
      expect.objectContaining({ code: 'SERVICE_BUS_LOCK_UNKNOWN' }),
    );
  });
});

describe('locked sessions', () => {
  it('are found by their id, unless two applications have locked one with that id', () => {
    const locked = new LockedMessages();
    const own = session();
    locked.addSession('shop', 'cart-1', own);
    expect(locked.session('cart-1')).toBe(own);
    const removeOther = locked.addSession('other', 'cart-1', session());
    expect(() => locked.session('cart-1')).toThrow('cart-1');
    removeOther();
    expect(locked.session('cart-1')).toBe(own);
  });

  it('are replaced by a later one with the same id, which the end of the earlier one leaves alone', () => {
    const locked = new LockedMessages();
    const removeEarlier = locked.addSession('shop', 'cart-1', session());
    const later = session();
    const removeLater = locked.addSession('shop', 'cart-1', later);
    removeEarlier();
    expect(locked.session('cart-1')).toBe(later);
    removeLater();
    expect(() => locked.session('cart-1')).toThrow('cart-1');
  });
});
