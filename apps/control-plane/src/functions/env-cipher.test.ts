import { inspect } from 'node:util';
import { CodedError, type TenantId } from '@drover/contracts';
import { Secret, systemRandomness } from '@drover/service-kit';
import { seededRandomness } from '@drover/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EnvCipher, type EnvOwner } from './env-cipher.js';
import { sealedEnv } from './sealed-env.js';

const owner: EnvOwner = { tenantId: 'a' as TenantId, name: 'resize', generation: 7 };
const key = new Secret('2f6e4b0c8e0f4b0f9a4d2c1e7b8a9d0c2f6e4b0c8e0f4b0f9a4d2c1e7b8a9d0c');
const cipher = new EnvCipher(key, systemRandomness);
const variables = { DB_PASSWORD: 'hunter2-of-the-database', EMPTY: '' };
const sealed = cipher.seal(owner, variables);

function errorOf(action: () => unknown): CodedError {
  try {
    action();
  } catch (error) {
    if (error instanceof CodedError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('EnvCipher', () => {
  it('gives back what it sealed, whatever it was and whoever had it', () => {
    const names = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,20}$/);
    fc.assert(
      fc.property(
        fc.dictionary(names, fc.string({ unit: 'binary' })),
        fc.string(),
        fc.integer({ min: 1 }),
        (env, name, generation) => {
          const someone = { ...owner, name, generation };
          expect(cipher.open(someone, cipher.seal(someone, env))).toEqual(new Map(Object.entries(env)));
        },
      ),
    );
  });

  it('shows neither names nor values, and seals the same differently each time', () => {
    expect(sealed.includes('hunter2')).toBe(false);
    expect(sealed.includes('DB_PASSWORD')).toBe(false);
    expect(cipher.seal(owner, variables).equals(sealed)).toBe(false);
  });

  it('takes the nonce from the randomness it was given', () => {
    const seal = () => new EnvCipher(key, seededRandomness(3)).seal(owner, variables);
    expect(seal().equals(seal())).toBe(true);
  });

  it.each<[string, Partial<EnvOwner>]>([
    ['tenant', { tenantId: 'b' as TenantId }],
    ['function', { name: 'other' }],
    ['incarnation', { generation: 8 }],
    ['tenant and function that read the same', { tenantId: 'a","res' as TenantId, name: 'ize' }],
  ])('does not open what was copied to another %s', (_, other) => {
    const error = errorOf(() => cipher.open({ ...owner, ...other }, sealed));
    expect(error).toMatchObject({ code: 'FUNCTION_ENV_UNREADABLE', status: 503 });
    expect(error.message).toContain('belongs to another function');
  });

  it('does not open what somebody changed, wherever', () => {
    for (let index = 0; index < sealed.length; index += 1) {
      const changed = Buffer.from(sealed);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(errorOf(() => cipher.open(owner, changed)).code).toBe('FUNCTION_ENV_UNREADABLE');
      expect(errorOf(() => cipher.open(owner, sealed.subarray(0, index))).code).toBe('FUNCTION_ENV_UNREADABLE');
    }
  });

  it('says that the key is another one, or none, and which variable holds it', () => {
    const other = new EnvCipher(new Secret('another key of some length'), systemRandomness);
    expect(errorOf(() => other.open(owner, sealed)).message).toMatch(/encrypted with another key .*DROVER_SECRETS_KEY/);
    const none = new EnvCipher(undefined, systemRandomness);
    expect(errorOf(() => none.open(owner, sealed)).message).toMatch(/DROVER_SECRETS_KEY is not set/);
    const refused = errorOf(() => none.seal(owner, variables));
    expect(refused).toMatchObject({ code: 'FUNCTION_ENV_NEEDS_KEY', status: 503, fault: 'caller' });
    expect(refused.message).toMatch(/resize.*DROVER_SECRETS_KEY/);
  });

  it('takes a line break at the end of the key for none', () => {
    const again = new EnvCipher(new Secret(`${key.reveal()}\n`), systemRandomness);
    expect(again.open(owner, sealed).get('DB_PASSWORD')).toBe(variables.DB_PASSWORD);
  });

  it.each(['', ' ', 'short', '123456789012345'])('refuses the key %j, which can be guessed', (text) => {
    const error = errorOf(() => new EnvCipher(new Secret(text), systemRandomness));
    expect(error.code).toBe('SECRETS_KEY_TOO_SHORT');
    if (text.trim()) expect(error.message).not.toContain(text.trim());
  });
});

describe('sealedEnv', () => {
  it('opens when the first value is wanted, once', () => {
    let opened = 0;
    const counting = new EnvCipher(key, systemRandomness);
    counting.open = (...args) => {
      opened += 1;
      return cipher.open(...args);
    };
    const env = sealedEnv(counting, owner, ['DB_PASSWORD', 'EMPTY'], sealed);
    expect(opened).toBe(0);
    expect(Object.entries(env).map(([name, value]) => [name, value.reveal()])).toEqual(Object.entries(variables));
    expect(opened).toBe(1);
  });

  it('shows no value, before and after it was opened', () => {
    const env = sealedEnv(cipher, owner, Object.keys(variables), sealed);
    for (let round = 0; round < 2; round += 1) {
      for (const shown of [
        JSON.stringify(env),
        inspect(env, { depth: 9, showHidden: true }),
        String(env['DB_PASSWORD']),
      ]) {
        expect(shown).toContain('[secret]');
        expect(shown).not.toContain('hunter2');
      }
      env['DB_PASSWORD']?.reveal();
    }
  });

  it('fails only for who reveals: with a wrong key, without what was sealed, for a name it does not have', () => {
    const wrong = new EnvCipher(new Secret('another key of some length'), systemRandomness);
    for (const env of [
      sealedEnv(wrong, owner, ['DB_PASSWORD'], sealed),
      sealedEnv(cipher, owner, ['DB_PASSWORD'], null),
      sealedEnv(cipher, owner, ['ADDED_BY_SOMEBODY'], sealed),
    ]) {
      const [value] = Object.values(env);
      const error = errorOf(() => value?.reveal());
      expect(error.code).toBe('FUNCTION_ENV_UNREADABLE');
      expect(inspect(error, { depth: 9 })).not.toContain('hunter2');
    }
  });
});
