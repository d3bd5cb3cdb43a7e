import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Leash, Secret } from '@drover/service-kit';
import type { Listening } from '../functions-api/programs/serve-http.js';
import { sequenceMark, spreadMark } from '../functions-api/load/request.js';
import { Program } from '../harness/program.js';
import { lines } from './lines.js';
import type { PlatformaticRequest } from './programs/platformatic.js';
import { poolSize, type Server } from './servers.js';

const release = '3.67.0';
/** A release of Node.js that it runs on, if this one is too old for it. */
const nodeRelease = '24.21.0';
const installWithinMs = 300_000;

/** Starts Platformatic DB on the tables of the hand-written endpoint. Returns undefined, and says so, if it cannot be installed or started. */
export async function startPlatformatic(url: Secret, leash: Leash): Promise<Server | undefined> {
  try {
    return await start(await installed(), url, leash);
  } catch (error) {
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n');
    process.stderr.write(`Platformatic DB ${release} is left out: ${reason}\n`);
    return undefined;
  }
}

/** Installs it once, outside of the repository: it is no dependency of ours. Returns the folder. */
async function installed(): Promise<string> {
  const cache = process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache');
  const folder = path.join(cache, 'drover', 'bench', `platformatic-db-${release}`);
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.${process.pid}`;
  await mkdir(unfinished, { recursive: true });
  try {
    await writeFile(path.join(unfinished, 'package.json'), '{ "private": true }\n');
    const options = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
    await promisify(execFile)('npm', ['install', ...options, `@platformatic/db@${release}`], {
      cwd: unfinished,
      timeout: installWithinMs,
    });
    await rename(unfinished, folder);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return folder;
}

async function start(folder: string, url: Secret, leash: Leash): Promise<Server> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isRecent = major > 22 || (major === 22 && minor >= 19);
  const withNode = fileURLToPath(new URL('../../../.ci/with-node', import.meta.url));
  const program = new Program<PlatformaticRequest, Listening>(
    new URL('./programs/platformatic.js', import.meta.url),
    leash,
    isRecent ? undefined : [withNode, nodeRelease, 'node'],
  );
  try {
    const listening = await program.ask({ folder, url: url.reveal(), poolSize });
    await checkAnswers(listening.port);
    return { kind: 'platformatic', headers: {}, ...listening, close: () => program.end() };
  } catch (error) {
    await program.end();
    throw error;
  }
}

/** GraphQL says 200 for what it refuses. */
async function checkAnswers(port: number): Promise<void> {
  let number = 900_000_000;
  const stamped = (text: string): string =>
    text.replaceAll(sequenceMark, () => String((number += 1))).replaceAll(spreadMark, '000000007');
  for (const { name, requests } of lines(10)) {
    const { method = 'POST', path: target, body } = requests.platformatic;
    const response = await fetch(new URL(stamped(target), `http://127.0.0.1:${port}`), {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: stamped(body) }),
    });
    const text = await response.text();
    if (!response.ok || text.includes('"errors"'))
      throw new Error(`it answered "${name}" with ${response.status}: ${text.slice(0, 200)}`);
  }
}
