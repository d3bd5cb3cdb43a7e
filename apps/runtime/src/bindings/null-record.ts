/**
 * An object without a prototype for keys from clients: `__proto__` is a key like any other. V8 keeps objects from a constructor in
 * fast mode, which it does not for `Object.create(null)`.
 */
export const NullRecord = function NullRecord() {} as unknown as new <Value>() => Record<string, Value>; // typed by hand

Object.defineProperty(NullRecord, 'prototype', { value: Object.freeze(Object.create(null)) });
