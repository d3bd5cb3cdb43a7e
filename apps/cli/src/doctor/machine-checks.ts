import { spawnSync } from 'node:child_process';
import { statfs, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { makeDirectories } from '@drover/service-kit';
import { explainDiskError } from '../up/data-directory.js';
import { tryPort } from '../up/port-check.js';
import { bad, good, warning, type Finding } from './finding.js';

const megabyte = 1024 * 1024;
/** An empty database with its write-ahead log, and some reserve. */
const leastDiskMb = 200;
const leastMemoryMb = 512;

export function checkNode(): Finding {
  const [major = 0] = process.versions.node.split('.').map(Number);
  return major % 2 === 0 && major >= 20
    ? good('Node.js', process.versions.node)
    : warning(
        'Node.js',
        `${process.versions.node} is not a long-term support release.`,
        'Use 22 or 24 for production.',
      );
}

export function checkMemory(): Finding {
  const totalMb = Math.round(os.totalmem() / megabyte);
  return totalMb >= leastMemoryMb
    ? good('memory', `${totalMb} MB`)
    : warning('memory', `${totalMb} MB is little.`, `Use a machine with ${leastMemoryMb} MB or more.`);
}

export function checkLocking(): Finding {
  const { error } = spawnSync('flock', ['--version'], { stdio: 'ignore' });
  return error
    ? warning(
        'file locks',
        'The command flock is missing, so two "drover up" that start at the same moment may share a data directory.',
        'Install util-linux.',
      )
    : good('file locks', 'flock is available');
}

/** Creates the directory and a file as `drover up` does, and removes both again. */
export async function checkDataDirectory(directory: string): Promise<Finding> {
  const absolute = path.resolve(directory);
  const probe = path.join(absolute, `.doctor-${process.pid}`);
  let made: string | undefined;
  try {
    made = await makeDirectories(absolute);
    await writeFile(probe, 'probe');
    const { bavail, bsize } = await statfs(absolute);
    const freeMb = Math.floor((bavail * bsize) / megabyte);
    return freeMb >= leastDiskMb
      ? good('data directory', `${absolute}, ${freeMb} MB free`)
      : bad(
          'data directory',
          `${absolute} has only ${freeMb} MB free.`,
          `Free at least ${leastDiskMb} MB, or choose another disk with --data-dir.`,
        );
  } catch (error) {
    const explained = explainDiskError(error, absolute);
    const found = explained?.message ?? `${absolute} cannot be used: ${String(error)}.`;
    return bad('data directory', found, 'Choose another with --data-dir, and run "drover doctor" again.');
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
    if (made !== undefined) await rm(made, { recursive: true, force: true });
  }
}

export async function checkPort(host: string, port: number): Promise<Finding> {
  const code = await tryPort(host, port);
  if (code === undefined) return good('port', port === 0 ? `any free port on ${host}` : `${host}:${port} is free`);
  return code === 'EADDRINUSE'
    ? bad(
        'port',
        `Port ${port} on ${host} is in use by another program.`,
        'Stop that program, or choose another port with --port (0 selects a free one).',
      )
    : bad('port', `${host}:${port} cannot be used (${code}).`, 'Choose another address with --host and --port.');
}
