import { stat } from 'node:fs/promises';
import path from 'node:path';
import { defineError } from '@drover/contracts';

const functionsUserUnknown = defineError<{ wanted: string }>('FUNCTIONS_USER_UNKNOWN', {
  fault: 'platform',
  retryable: false,
  status: 500,
  message: (d) =>
    `DROVER_FUNCTIONS_USER is "${d.wanted}", which is neither a user of /etc/passwd nor uid or uid:gid. Name an existing user, or write numbers.`,
  help: 'Set `DROVER_FUNCTIONS_USER` to the name of a user, to `uid` or to `uid:gid`, or leave it unset.',
});

export const functionsUserErrors = { functionsUserUnknown };

/** The user that code of tenants runs as. */
export interface FunctionsUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * An id without an account, outside the ranges that distributions and systemd assign. The account for unprivileged
 * services (uid 65534) does not do: other services run as it, the embedded PostgreSQL among them, and their files would be open
 * to functions.
 */
const unprivileged: FunctionsUser = { uid: 65_530, gid: 65_530 };

/**
 * Returns the user to change to for code of tenants. Undefined: the user of this process, because only root can change to another,
 * or because the operator asked for root. `passwd` is the content of /etc/passwd.
 */
export function chooseFunctionsUser(
  wanted: string | undefined,
  { isRoot, passwd }: { readonly isRoot: boolean; readonly passwd: string },
): FunctionsUser | undefined {
  const user = wanted === undefined ? unprivileged : (byNumber(wanted) ?? byName(wanted, passwd));
  if (!user) throw functionsUserUnknown({ wanted: wanted ?? '' });
  return isRoot && user.uid !== 0 ? user : undefined;
}

function byNumber(wanted: string): FunctionsUser | undefined {
  const [, uid, gid = uid] = /^(\d{1,9})(?::(\d{1,9}))?$/.exec(wanted) ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

function byName(wanted: string, passwd: string): FunctionsUser | undefined {
  if (wanted === 'root') return { uid: 0, gid: 0 };
  const fields = passwd.split('\n').map((line) => line.split(':'));
  const [, , uid, gid] = fields.find(([name]) => name === wanted) ?? [];
  return uid === undefined ? undefined : byNumber(`${uid}:${gid}`);
}

/** Whether the user may read the file, by its mode and those of the folders above it. Access control lists are not considered. */
export async function mayRead(file: string, user: FunctionsUser): Promise<boolean> {
  if (!(await hasMode(file, user, 4))) return false;
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    if (!(await hasMode(folder, user, 1))) return false;
    if (folder === path.dirname(folder)) return true;
  }
}

async function hasMode(file: string, { uid, gid }: FunctionsUser, bit: 1 | 4): Promise<boolean> {
  const facts = await stat(file);
  const shift = facts.uid === uid ? 6 : facts.gid === gid ? 3 : 0;
  return ((facts.mode >> shift) & bit) !== 0;
}
