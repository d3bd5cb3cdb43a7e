import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { chooseFunctionsUser, mayRead } from './functions-user.js';

const passwd = `root:x:0:0:root:/root:/bin/sh
toor:x:0:0::/root:/bin/sh
nobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin
runner:x:990:991::/srv:/bin/false
broken:x:many:1::/:/bin/false
`;
const choose = (wanted: string | undefined, isRoot = true) => chooseFunctionsUser(wanted, { isRoot, passwd });

describe('the user of functions', () => {
  it('is one without an account if the platform runs as root, and never the account of other services', () => {
    expect(choose(undefined)).toEqual({ uid: 65_530, gid: 65_530 });
  });

  it.each([
    ['runner', { uid: 990, gid: 991 }],
    ['nobody', { uid: 65_534, gid: 65_533 }],
    ['1234', { uid: 1_234, gid: 1_234 }],
    ['1234:5', { uid: 1_234, gid: 5 }],
  ])('is the one that the operator names: %s', (wanted, user) => {
    expect(choose(wanted)).toEqual(user);
  });

  it.each(['root', '0', '0:5', 'toor'])('is the user of the platform on demand: %s', (wanted) => {
    expect(choose(wanted)).toBeUndefined();
  });

  it('is the user of the platform where it cannot be changed', () => {
    for (const wanted of [undefined, 'runner', '1234']) expect(choose(wanted, false)).toBeUndefined();
  });

  it.each(['nobody-there', '', '-1', '1:', ':1', '1:2:3', 'broken', '9999999999'])(
    'is refused as unknown: %j',
    (wanted) => {
      for (const isRoot of [true, false])
        expect(() => choose(wanted, isRoot)).toThrow(`DROVER_FUNCTIONS_USER is "${wanted}"`);
    },
  );
});

describe('mayRead', () => {
  it('looks at the file and at every folder above it', () =>
    withScratchDirectory(async (directory) => {
      const folder = path.join(directory, 'a');
      const file = path.join(folder, 'f');
      await mkdir(folder);
      await writeFile(file, '');
      const facts = async (top: number, middle: number, own: number): Promise<boolean> => {
        await chmod(directory, top);
        await chmod(folder, middle);
        await chmod(file, own);
        return mayRead(file, { uid: 65_530, gid: 65_530 });
      };
      expect(await facts(0o711, 0o711, 0o604)).toBe(true);
      expect(await facts(0o710, 0o711, 0o604)).toBe(false);
      expect(await facts(0o711, 0o744, 0o604)).toBe(false);
      expect(await facts(0o711, 0o711, 0o640)).toBe(false);
    }));
});
