import Type from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { ApiKey, CreatedApiKey, holdsScope, isScope, mayGrantScope, NewApiKey, Scope, scopes } from './api-key.js';

const wanted = { name: 'deploy from CI', scopes: ['control:read'] };

describe('NewApiKey', () => {
  it.each([
    ['a name and a scope', wanted],
    ['every scope', { ...wanted, scopes: [...scopes] }],
    ['a scope of one collection', { ...wanted, scopes: ['records:read:größe_2', 'records:write:orders-archive'] }],
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
    ['a limit of a scope that has none', { ...wanted, scopes: ['control:read:orders'] }],
    ['a limit without a name', { ...wanted, scopes: ['records:read:'] }],
    ['a limit that is no name of a collection', { ...wanted, scopes: ['records:read:a:b'] }],
    ['a scope twice', { ...wanted, scopes: ['control:read', 'control:read'] }],
    ['an end that is no date', { ...wanted, expiresAt: 'tomorrow' }],
    ['a tenant, which is the server’s to say', { ...wanted, tenantId: 'other' }],
  ])('refuses %s', (_, value) => {
    expect(Value.Check(NewApiKey, value)).toBe(false);
  });

  it('bounds the number of scopes, so that comparing them stays cheap', () => {
    const many = Array.from({ length: 201 }, (_, n) => `records:read:c${n}`);
    const Scopes = Type.Object({ scopes: NewApiKey.properties.scopes });
    expect(Value.Check(Scopes, { scopes: many })).toBe(false);
    expect(Value.Check(Scopes, { scopes: many.slice(1) })).toBe(true);
  });
});

describe('holdsScope', () => {
  it.each<[Scope[], Scope, string | undefined, boolean]>([
    [['records:read'], 'records:read', undefined, true],
    [['records:read'], 'records:read', 'orders', true],
    [['records:read:orders'], 'records:read', 'orders', true],
    [['records:read:orders'], 'records:read', 'orders2', false],
    [['records:read:orders'], 'records:read', 'order', false],
    [['records:read:orders'], 'records:read', undefined, true],
    [['records:read:orders'], 'records:write', 'orders', false],
    [['records:read:orders'], 'records:write', undefined, false],
    [['control:read'], 'control:write', undefined, false],
  ])('of %j for %s of %s is %s', (held, scope, collection, expected) => {
    expect(holdsScope(held, scope, collection)).toBe(expected);
  });
});

describe('mayGrantScope', () => {
  it.each<[Scope[], Scope, boolean]>([
    [['records:read'], 'records:read', true],
    [['records:read'], 'records:read:orders', true],
    [['records:read:orders'], 'records:read:orders', true],
    [['records:read:orders'], 'records:read', false],
    [['records:read:orders'], 'records:read:lines', false],
    [['records:read'], 'records:write:orders', false],
  ])('of %j for %s is %s', (held, scope, expected) => {
    expect(mayGrantScope(held, scope)).toBe(expected);
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

  it('knows its scopes by their text', () => {
    for (const scope of [...scopes, 'collections:define:orders']) {
      expect(Value.Check(Scope, scope)).toBe(true);
      expect(isScope(scope)).toBe(true);
    }
    for (const text of ['', 'records', 'records:read:', 'records:read: x', 'apps:read:shop']) {
      expect(Value.Check(Scope, text)).toBe(false);
      expect(isScope(text)).toBe(false);
    }
    expectTypeOf<ApiKey['scopes']>().toEqualTypeOf<Scope[]>();
  });
});
