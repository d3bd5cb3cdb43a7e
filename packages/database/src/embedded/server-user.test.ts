import { hasCode } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { chooseServerUser, parsePasswd } from './server-user.js';

const passwd = `root:x:0:0:root:/root:/bin/bash
# a comment
nobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin
+nis-entry
postgres:x:101:104:PostgreSQL,,,:/var/lib/postgresql:/bin/bash
toor:x:0:0::/root:/bin/sh
`;
const users = parsePasswd(passwd);

function refusal(wanted: string | undefined, of = users): unknown {
  try {
    return chooseServerUser(of, wanted);
  } catch (error) {
    return error;
  }
}

describe('server user', () => {
  it('is postgres where there is one', () => {
    expect(chooseServerUser(users, undefined)).toEqual({ name: 'postgres', uid: 101, gid: 104 });
  });

  it('is the user nobody on a system without a user postgres', () => {
    const without = users.filter((user) => user.name !== 'postgres');
    expect(chooseServerUser(without, undefined)).toEqual({ name: 'nobody', uid: 65534, gid: 65533 });
  });

  it('is the one that was asked for', () => {
    expect(chooseServerUser(users, 'nobody').uid).toBe(65534);
  });

  it('is refused when it does not exist, by name', () => {
    const error = refusal('drover');
    expect(hasCode(error, 'EMBEDDED_POSTGRES_NO_SERVER_USER')).toBe(true);
    expect(String(error)).toContain('no user "drover"');
  });

  it('is refused when it is root under whatever name', () => {
    expect(String(refusal('toor'))).toContain('"toor" is root');
  });

  it('is refused on a machine that has neither of the usual ones', () => {
    expect(String(refusal(undefined, parsePasswd('root:x:0:0::/root:/bin/sh')))).toContain(
      'neither "postgres" nor "nobody"',
    );
  });

  it('ignores lines that are no user', () => {
    expect(users.map((user) => user.name)).toEqual(['root', 'nobody', 'postgres', 'toor']);
  });
});
