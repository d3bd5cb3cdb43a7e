import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { systemClock } from '@drover/service-kit';
import { Child, isAlive, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { endOrphanedServer, parsePid, type OrphanedServerOptions } from './orphaned-server.js';

async function withPostmasterPid<T>(content: string, use: (options: OrphanedServerOptions) => Promise<T>): Promise<T> {
  return withScratchDirectory(async (scratch) => {
    const cluster = path.join(scratch, 'cluster');
    await mkdir(cluster);
    await writeFile(path.join(cluster, 'postmaster.pid'), content);
    const { signal } = new AbortController();
    return use({ cluster, clusterName: 'drover-test-left', clock: systemClock, observe: () => undefined, signal });
  });
}

describe('endOrphanedServer', () => {
  it('reads the pid out of the first line only', () => {
    expect(parsePid('4711\n/d/cluster\n1700000000\n')).toBe(4711);
    expect(parsePid('4711')).toBe(4711);
    expect(parsePid('')).toBeUndefined();
    expect(parsePid('-1\n')).toBeUndefined();
  });

  it('does not end another process that reused the pid, and removes the file that would mislead PostgreSQL', async () => {
    const other = new Child('sleep', ['600']);
    try {
      await withPostmasterPid(`${other.pid}\n/d/cluster\n`, async (options) => {
        expect(await endOrphanedServer(options)).toBe(true);
        expect(isAlive(other.pid)).toBe(true);
        expect(await readdir(options.cluster)).toEqual([]);
      });
    } finally {
      await other.end();
    }
  });

  it('ends a process that carries the name of the cluster', async () => {
    const server = new Child(
      '/bin/sh',
      ['-c', 'echo up; read -r line', 'postgres', '-c', 'cluster_name=drover-test-left'],
      {
        stdio: ['pipe', 'pipe', 'pipe'],
      },
    );
    await server.line(/up/);
    try {
      await withPostmasterPid(`${server.pid}\n`, async (options) => {
        expect(await endOrphanedServer(options)).toBe(true);
        expect((await server.exited).signal).toBe('SIGINT');
      });
    } finally {
      await server.end();
    }
  });

  it('keeps the file of a dead server, out of which PostgreSQL learns of its memory', async () => {
    const dead = new Child('true', []);
    await dead.exited;
    await withPostmasterPid(`${dead.pid}\n`, async (options) => {
      expect(await endOrphanedServer(options)).toBe(true);
      expect(await readdir(options.cluster)).toEqual(['postmaster.pid']);
    });
  });
});
