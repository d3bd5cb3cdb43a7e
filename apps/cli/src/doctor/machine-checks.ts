import { spawnSync } from 'node:child_process';
import { statfs, mkdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { explainDiskError } from '../up/data-directory.js';
import { tryPort } from '../up/port-check.js';
import { bad, good, warning, type Finding } from './finding.js';

const megabyte = 1024 * 1024;
/** An empty cluster with its write-ahead log, and a little to breathe. */
const leastDiskMb = 200;
const leastMemoryMb = 512;

export function checkNode(): Finding {
  const [major = 0] = process.versions.node.split('.').map(Number);
  return major % 2 === 0 && major >= 20
    ? good('Node.js', process.versions.node)
    : warning('Node.js', `${process.versions.node} is not a long-term release`, 'use 22 or 24 for production');
}

export function checkMemory(): Finding {
  const totalMb = Math.round(os.totalmem() / megabyte);
  return totalMb >= leastMemoryMb
    ? good('memory', `${totalMb} MB`)
    : warning('memory', `${totalMb} MB`, `Drover and its database want ${leastMemoryMb} MB or more`);
}

export function checkLocking(): Finding {
  const { error } = spawnSync('flock', ['--version'], { stdio: 'ignore' });
  return error
    ? warning(
        'file locks',
        'no flock command',
        'install util-linux, or never start two "drover up" on one directory at the same moment',
      )
    : good('file locks', 'flock');
}

/** Tries what `drover up` will do there, and leaves nothing behind. */
export async function checkDataDirectory(directory: string): Promise<Finding> {
  const absolute = path.resolve(directory);
  const probe = path.join(absolute, `.doctor-${process.pid}`);
  let made: string | undefined;
  try {
    made = await mkdir(absolute, { recursive: true });
    await writeFile(probe, 'probe');
    const { bavail, bsize } = await statfs(absolute);
    const freeMb = Math.floor((bavail * bsize) / megabyte);
    return freeMb >= leastDiskMb
      ? good('data directory', `${absolute}, ${freeMb} MB free`)
      : bad(
          'data directory',
          `${absolute} has ${freeMb} MB free`,
          `free ${leastDiskMb} MB, or choose another disk with --data-dir`,
        );
  } catch (error) {
    const explained = explainDiskError(error, absolute);
    if (!explained) throw error;
    return bad('data directory', explained.message, 'as it says');
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
    if (made !== undefined) await rm(made, { recursive: true, force: true });
  }
}

export async function checkPort(host: string, port: number): Promise<Finding> {
  const code = await tryPort(host, port);
  if (code === undefined) return good('port', `${host}:${port} is free`);
  return code === 'EADDRINUSE'
    ? bad(
        'port',
        `${port} on ${host} is taken`,
        'stop the program that has it, or choose another with --port (0 takes any free one)',
      )
    : bad('port', `cannot listen on ${host}:${port} (${code})`, 'choose another with --host and --port');
}
