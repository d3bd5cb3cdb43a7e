import Type from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { ApiKey, CreatedApiKey, NewApiKey, Scope, scopes } from './api-key.js';

const wanted = { name: 'deploy from CI', scopes: ['control:read'] };

describe('NewApiKey', () => {
  it.each([
    ['a name and a scope', wanted],
    ['every scope', { ...wanted, scopes: [...scopes] }],
    ['an end', { ...wanted, expiresAt: '2031-05-01T12:00:00Z' }],
    ['a name in any script', { ...wanted, name: 'ключ 🔑 für später' }],
    ['the longest name', { ...wanted, name: 'x'.repeat(100) }],
  ])('takes %s', (_, value) => {
    expect(Value.Check(NewApiKey, value)).toBe(true);
  });

  it.each([
    ['no name', { scopes: wanted.scopes }],
    ['an empty name', { ...wanted, name: '' }],
    ['a name that is too long', { ...wanted, name: 'x'.repeat(101) }],
    ['a name with NUL, which PostgreSQL cannot keep', { ...wanted, name: 'a\u0000b' }],
    ['a name that moves the cursor of a terminal', { ...wanted, name: 'a\u001b[2Jb' }],
    ['no scope', { ...wanted, scopes: [] }],
    ['an unknown scope', { ...wanted, scopes: ['control:everything'] }],
    ['a scope twice', { ...wanted, scopes: ['control:read', 'control:read'] }],
    ['an end that is no date', { ...wanted, expiresAt: 'tomorrow' }],
    ['a tenant, which is the server’s to say', { ...wanted, tenantId: 'other' }],
  ])('refuses %s', (_, value) => {
    expect(Value.Check(NewApiKey, value)).toBe(false);
  });

  it('has no room for more scopes than there are, so that comparing them stays cheap', () => {
    const many = Array.from({ length: scopes.length + 1 }, (_, n) => `scope-${n}`);
    expect(Value.Check(Type.Object({ scopes: NewApiKey.properties.scopes }), { scopes: many })).toBe(false);
    expect(NewApiKey.properties.scopes).toMatchObject({ maxItems: scopes.length });
  });
});

describe('ApiKey', () => {
  it('shows a key without anything that could be used as one', () => {
    expect(Object.keys(ApiKey.properties)).toEqual([
      'id',
      'tenantId',
      'name',
      'scopes',
      'createdAt',
      'expiresAt',
      'lastUsedAt',
    ]);
    expect(Object.keys(CreatedApiKey.properties)).toEqual(['key', 'secret']);
  });

  it('lists exactly the scopes of its type', () => {
    for (const scope of scopes) expect(Value.Check(Scope, scope)).toBe(true);
    expectTypeOf<(typeof scopes)[number]>().toEqualTypeOf<
      | 'control:read'
      | 'control:write'
      | 'functions:read'
      | 'functions:write'
      | 'functions:commands'
      | 'functions:invoke'
      | 'apps:read'
      | 'apps:write'
      | 'collections:define'
      | 'records:read'
      | 'records:write'
    >();
    expectTypeOf<ApiKey['scopes']>().toEqualTypeOf<Scope[]>();
  });
});
