import { readIfExists } from './durable-files.js';
import { noServerUser } from './errors.js';
import type { Identity } from './reachability.js';

/** User that initdb and postgres run as if this process is root. */
export interface ServerUser extends Identity {
  readonly name: string;
}

const usual = ['postgres', 'nobody'];

/** Parses an /etc/passwd; ignores invalid lines. */
export function parsePasswd(text: string): readonly ServerUser[] {
  return text.split('\n').flatMap((line) => {
    const [name = '', , uid = '', gid = ''] = line.split(':');
    return name !== '' && /^\d+$/.test(uid) && /^\d+$/.test(gid) ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}

/** Returns the wanted user, else the first usual one. Throws for root, because PostgreSQL refuses to run as root. */
export function chooseServerUser(users: readonly ServerUser[], wanted: string | undefined): ServerUser {
  for (const name of wanted === undefined ? usual : [wanted]) {
    const user = users.find((candidate) => candidate.name === name);
    if (user && user.uid !== 0) return user;
    if (user) throw noServerUser({ reason: `it refuses to run as root, and the user "${name}" is root` });
  }
  const missing = wanted === undefined ? 'neither "postgres" nor "nobody"' : `no user "${wanted}"`;
  throw noServerUser({ reason: `it refuses to run as root, and /etc/passwd has ${missing}` });
}

export async function readUsers(): Promise<readonly ServerUser[]> {
  return parsePasswd((await readIfExists('/etc/passwd')) ?? '');
}

/** Returns the options of `spawn` to run a program as that user; without a user, as the user of this process. */
export function spawnAs(user: ServerUser | undefined): { readonly uid?: number; readonly gid?: number } {
  return user ? { uid: user.uid, gid: user.gid } : {};
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}
