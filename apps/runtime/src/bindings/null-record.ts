/**
 * An object for names that strangers choose: nothing is inherited, so `__proto__` is a name like any other. Made by a
 * constructor because the engine keeps such objects in their fast form, which it does not for `Object.create(null)`.
 */
export const NullRecord = function NullRecord() {} as unknown as new <Value>() => Record<string, Value>; // typed by hand

Object.defineProperty(NullRecord, 'prototype', { value: Object.freeze(Object.create(null)) });
