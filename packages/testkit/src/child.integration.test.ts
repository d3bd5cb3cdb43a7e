import { afterEach, describe, expect, it } from 'vitest';
import { Child, isAlive } from './child.js';
import { eventually } from './eventually.js';

const children: Child[] = [];

function start(script: string): Child {
  const child = new Child('/bin/sh', ['-c', script]);
  children.push(child);
  return child;
}

afterEach(async () => {
  for (const child of children.splice(0)) await child.end();
});

describe('Child', () => {
  it('finds lines of both streams, past and future', async () => {
    const child = start('echo one; echo two >&2; read -r forever < /dev/zero');
    await expect(child.line(/^two$/)).resolves.toBe('two');
    await expect(child.line(/^o/g)).resolves.toBe('one');
    await expect(child.line(/^o/g)).resolves.toBe('one');
  });

  it('fails a wait for a line with the exit and the output when the process ends first', async () => {
    const child = start('echo something; echo "went wrong" >&2; exit 3');
    const failure = await child.line(/ready/).catch((error: unknown) => String(error));
    expect(failure).toContain('process ended with {"code":3,"signal":null} without a line like /ready/');
    expect(failure).toContain('something\nwent wrong');
    await expect(child.line(/ready/)).rejects.toThrow('process ended');
    await expect(child.exited).resolves.toEqual({ code: 3, signal: null });
  });

  it('has every line by the time it has exited, the last one without a newline too', async () => {
    const child = start('i=0; while [ $i -lt 2000 ]; do echo $i; i=$((i + 1)); done; printf end');
    await child.exited;
    expect(child.stdout).toHaveLength(2_001);
    expect(child.stdout.at(-1)).toBe('end');
  });

  it('has exited also when the channel to it was cut before', async () => {
    const child = new Child(process.execPath, ['-e', "process.once('disconnect', () => console.log('cut'))"], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    children.push(child);
    child.process.disconnect();
    await expect(child.exited).resolves.toEqual({ code: 0, signal: null });
    expect(child.stdout).toEqual(['cut']);
  });

  it('fails a wait for a line when time runs out', async () => {
    const child = start('echo started; exec sleep 60');
    await child.line(/started/);
    await expect(child.line(/ready/, 20)).rejects.toThrow(
      '20 ms passed without a line like /ready/; it printed:\nstarted',
    );
  });

  it('fails at once when there is no such program', async () => {
    const child = new Child('/no/such/program', []);
    await expect(child.line(/ready/)).rejects.toThrow('process did not start');
    await expect(child.exited).rejects.toMatchObject({ code: 'ENOENT' });
    expect(() => child.pid).toThrow('did not start');
    await child.end();
  });

  it('ends the whole group, also when its leader has ended', async () => {
    const child = start('sleep 60 > /dev/null 2>&1 & echo "pid $!"; exec 1>&- 2>&-');
    const grandchild = Number((await child.line(/^pid/)).slice(4));
    await child.exited;
    expect(isAlive(grandchild)).toBe(true);
    await child.end();
    await eventually(() => !isAlive(grandchild));
  });
});

describe('isAlive', () => {
  it('knows this process, and one that is gone', async () => {
    expect(isAlive(process.pid)).toBe(true);
    const child = start('exit 0');
    await child.exited;
    expect(isAlive(child.pid)).toBe(false);
  });

  it.runIf(process.platform === 'linux')('does not take a zombie for alive', async () => {
    // The subshell becomes `sleep`, which never asks what became of the child that it inherited. The child ends after that: a
    // shell would ask.
    const child = start(
      '(sh -c \'until grep -q sleep "/proc/$PPID/comm"; do sleep 0.01; done\' & echo "pid $!"; exec sleep 60)',
    );
    const zombie = Number((await child.line(/^pid/)).slice(4));
    await eventually(() => !isAlive(zombie));
    expect(() => process.kill(zombie, 0)).not.toThrow();
  });
});
