import { spawn, type ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Child, eventually, isAlive, withScratchDirectory } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { Leash } from './leash.js';

const leashUrl = new URL('../../dist/process/leash.js', import.meta.url).href;
const testkitUrl = import.meta.resolve('@drover/testkit');

/** Writes a line to the file of its first argument when asked to end; with "stubborn" it stays all the same. */
const heldProgram = `
  import { appendFileSync } from 'node:fs';
  import { isAlive } from ${JSON.stringify(testkitUrl)};
  const [file, name, manner, other] = process.argv.slice(1);
  process.on('SIGTERM', () => {
    const about = other ? (isAlive(Number(other)) ? ' while the other lived' : ' after the other') : '';
    appendFileSync(file, name + about + '\\n');
    if (manner !== 'stubborn') process.exit(0);
  });
  setInterval(() => undefined, 1000);
  process.send?.('up');
`;

/** Starts what it is told, holds it on a leash and prints the pids; then waits to be killed. */
const ownerProgram = `
  import { spawn } from 'node:child_process';
  import { once } from 'node:events';
  import { Leash } from ${JSON.stringify(leashUrl)};
  const leash = new Leash();
  const run = async (args) => {
    const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    await once(child, 'message');
    child.disconnect();
    child.unref();
    return child.pid;
  };
  const held = ${JSON.stringify(heldProgram)};
  const program = (...args) => ['--input-type=module', '-e', held, '--', ...args];
  const hold = (pid, graceMs) => leash.hold(pid, { signal: 'SIGTERM', graceMs });
  const say = (...words) => process.stdout.write(words.join(' ') + '\\n');
`;

const owners: Child[] = [];
const strays = new Set<number>();

function own(program: string): Child {
  const owner = new Child(process.execPath, ['--input-type=module', '-e', ownerProgram + program]);
  owners.push(owner);
  return owner;
}

async function pidsOf(owner: Child, word: string): Promise<number[]> {
  const pids = (await owner.line(new RegExp(`^${word} `))).split(' ').slice(1).map(Number);
  for (const pid of pids) strays.add(pid);
  return pids;
}

afterEach(async () => {
  for (const owner of owners.splice(0)) await owner.end();
  for (const pid of strays) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  strays.clear();
});

const linesOf = async (file: string): Promise<string[]> => (await readFile(file, 'utf8')).trimEnd().split('\n');

describe('Leash, when its owner is killed', () => {
  it('ends what it held, last first, and kills what does not go', async () => {
    await withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'log');
      const owner = own(`
        const file = ${JSON.stringify(file)};
        const stubborn = await run(program(file, 'stubborn', 'stubborn'));
        const server = await run(program(file, 'server', 'polite', stubborn));
        hold(server, 10_000);
        hold(stubborn, 300);
        say('pids', server, stubborn, leash.pid);
        setInterval(() => undefined, 1000);
      `);
      const pids = await pidsOf(owner, 'pids');
      expect(pids.map(isAlive)).toEqual([true, true, true]);
      owner.kill('SIGKILL');
      await eventually(() => expect(pids.map(isAlive)).toEqual([false, false, false]));
      expect(await linesOf(file)).toEqual(['stubborn', 'server after the other']);
    });
  });

  it('ends what it held also when the owner just ends, and lets live what was dropped', async () => {
    await withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'log');
      const owner = own(`
        const file = ${JSON.stringify(file)};
        const pids = [];
        for (const name of ['one', 'two', 'three']) pids.push(await run(program(file, name, 'polite')));
        const [, drop] = pids.map((pid) => hold(pid, 10_000));
        drop();
        drop();
        say('pids', ...pids, leash.pid);
      `);
      const pids = await pidsOf(owner, 'pids');
      await expect(owner.exited).resolves.toEqual({ code: 0, signal: null });
      await eventually(() => expect(pids.map(isAlive)).toEqual([false, true, false, false]));
      expect(await linesOf(file)).toEqual(['three', 'one']);
    });
  });

  it('ends the group of what it held, grandchildren that linger included', async () => {
    const owner = own(`
      const family = "const { spawn } = require('node:child_process');" +
        "const child = spawn(process.execPath, ['-e', 'process.on(\\"SIGTERM\\", () => undefined); process.send(0); setInterval(() => undefined, 1000)'], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });" +
        "child.on('message', () => process.send(child.pid)); process.on('SIGTERM', () => process.exit(0));";
      const child = spawn(process.execPath, ['-e', family], { detached: true, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
      const [grandchild] = await once(child, 'message');
      hold(child.pid, 300);
      say('pids', child.pid, grandchild);
    `);
    const pids = await pidsOf(owner, 'pids');
    expect(pids.map(isAlive)).toEqual([true, true]);
    owner.kill('SIGKILL');
    await eventually(() => expect(pids.map(isAlive)).toEqual([false, false]));
  });

  it('still holds everything after its shell was killed', async () => {
    await withScratchDirectory(async (directory) => {
      const owner = own(`
        const pid = await run(program(${JSON.stringify(path.join(directory, 'log'))}, 'held', 'polite'));
        const dropped = await run(program(${JSON.stringify(path.join(directory, 'log'))}, 'dropped', 'polite'));
        hold(pid, 10_000);
        hold(dropped, 10_000)();
        say('pids', pid, dropped);
        const first = leash.pid;
        say('shell', first);
        const watch = setInterval(() => {
          if (leash.pid === undefined || leash.pid === first) return;
          clearInterval(watch);
          say('again', leash.pid);
          setInterval(() => undefined, 1000);
        }, 10);
      `);
      const [held = 0, dropped = 0] = await pidsOf(owner, 'pids');
      const [first = 0] = await pidsOf(owner, 'shell');
      process.kill(first, 'SIGKILL');
      const [second = 0] = await pidsOf(owner, 'again');
      expect(isAlive(held)).toBe(true);
      expect([first, second].map(exists)).toEqual([false, true]);
      owner.kill('SIGKILL');
      await eventually(() => expect([held, second].map(isAlive)).toEqual([false, false]));
      expect(isAlive(dropped)).toBe(true);
    });
  });

  it('shrugs off the signals that a terminal or an operator sends around', async () => {
    await withScratchDirectory(async (directory) => {
      const owner = own(`
        const pid = await run(program(${JSON.stringify(path.join(directory, 'log'))}, 'held', 'polite'));
        hold(pid, 10_000);
        say('pids', pid, leash.pid);
        setInterval(() => undefined, 1000);
      `);
      const [held = 0, shell = 0] = await pidsOf(owner, 'pids');
      // The shell sets its traps before it reads its first line, but nothing tells when: it is asked until it has.
      await eventually(async () => expect(await ignoresHangup(shell)).toBe(true));
      for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.kill(shell, signal);
      owner.kill('SIGKILL');
      await eventually(() => expect([held, shell].map(isAlive)).toEqual([false, false]));
    });
  });
});

describe('Leash', () => {
  const children: ChildProcess[] = [];
  const start = (): number => {
    const child = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' });
    children.push(child);
    return child.pid ?? 0;
  };

  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  it('starts no shell before there is something to hold', async () => {
    const leash = new Leash();
    expect(leash.pid).toBeUndefined();
    await leash.stop();
  });

  it('leaves nothing behind on stop, no zombie either, and lets live what it held', async () => {
    const leash = new Leash();
    const held = [start(), start()];
    for (const pid of held) leash.hold(pid, { signal: 'SIGTERM', graceMs: 100 });
    const shell = leash.pid ?? 0;
    expect(exists(shell)).toBe(true);
    await leash.stop();
    expect(exists(shell)).toBe(false);
    expect(leash.pid).toBeUndefined();
    expect(held.map(isAlive)).toEqual([true, true]);
    await leash.stop();
  });

  it('does not release another process that reused the pid', async () => {
    const leash = new Leash();
    const pid = start();
    const options = { signal: 'SIGTERM', graceMs: 5_000 } as const;
    const drop = leash.hold(pid, options);
    drop();
    leash.hold(pid, options);
    drop();
    const shell = leash.pid ?? 0;
    // The shell dies and its heir is only told what is held: there is an heir only if the second hold is in force.
    process.kill(shell, 'SIGKILL');
    const heir = await eventually(() => (leash.pid === shell ? false : (leash.pid ?? false)));
    expect(heir).toBeTypeOf('number');
    await leash.stop();
  });

  it('can be stopped while its shell is being replaced, and no other comes', async () => {
    const leash = new Leash();
    leash.hold(start(), { signal: 'SIGTERM', graceMs: 100 });
    process.kill(leash.pid ?? Number.NaN, 'SIGKILL');
    await eventually(() => leash.pid === undefined);
    await leash.stop();
    leash.hold(start(), { signal: 'SIGTERM', graceMs: 100 });
    const shell = leash.pid ?? 0;
    await leash.stop();
    expect(exists(shell)).toBe(false);
  });

  it('waits for its shell on stop with an otherwise empty event loop', async () => {
    const owner = own(`
      hold(process.pid, 100);
      await leash.stop();
      say('stopped');
    `);
    await owner.line(/^stopped$/);
    await expect(owner.exited).resolves.toEqual({ code: 0, signal: null });
  });
});

/** Also true for a zombie, unlike `isAlive`. */
function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function ignoresHangup(pid: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return (Number.parseInt(/^SigIgn:\s*([0-9a-f]+)$/m.exec(status)?.[1]?.slice(-1) ?? '0', 16) & 1) === 1;
}
