import { Child } from '@drover/testkit';
import { expect, it } from 'vitest';
import { freePorts } from '../support/free-ports.js';
import { app } from '../support/functions.js';
import { drover, plainEnvironment, readyLine, startUp, withDataDirectory } from '../support/platform.js';

const portOf = (url: string | undefined): string => new URL(url ?? '').port;

it('two platforms run side by side; one asks for keys, the other does not', async () => {
  await withDataDirectory(async (directory, started) => {
    const [port = '', runtimePort = ''] = (await freePorts(2)).map(String);
    const first = started(startUp(`${directory}/1`, { args: ['--app', app('rooted'), '--json'] }));
    const args = ['up', '--data-dir', `${directory}/2`, '--port', port, '--app', app('rooted'), '--no-keys'];
    const env = plainEnvironment({ DROVER_RUNTIME_PORT: runtimePort });
    const second = started(new Child(process.execPath, [drover, ...args], { env }));
    const { urls } = await readyLine(first);
    await second.line(/Press Ctrl-C/);

    const open = `http://127.0.0.1:${port}`;
    const get = async (url: string): Promise<[number, string]> => {
      const answer = await fetch(url);
      return [answer.status, await answer.text()];
    };
    expect((await get(`${urls.public}/locked`))[0]).toBe(401);
    expect(await get(`${open}/locked`)).toEqual([200, 'opened']);
    expect(await get(`http://127.0.0.1:${runtimePort}/locked`)).toEqual([200, 'opened']);
    expect((await get(`${open}/admin/functions`))[0]).toBe(200);
    expect(second.output).toContain(`${open}/orders/{id}`);
    expect(second.output).toContain('Function keys are off');
    expect(second.output).toContain('hidden  not reachable: /v1/{*rest} is a path of the platform');

    const listing = new Child(process.execPath, [drover, 'keys', 'functions', '--data-dir', `${directory}/1`], {
      env: plainEnvironment(),
    });
    expect(await listing.exited).toMatchObject({ code: 0 });
    const [, key = ''] = /key of locked +(\S+)/.exec(listing.output) ?? [];
    expect(await get(`${urls.public}/locked?code=${key}`)).toEqual([200, 'opened']);

    const taken = portOf(urls.functionRpc);
    const third = started(startUp(`${directory}/3`, { env: { DROVER_RPC_PORT: taken } }));
    expect((await third.exited).code).not.toBe(0);
    expect(third.output).toContain(`on 127.0.0.1:${taken} (EADDRINUSE)`);
    expect(third.output).toContain('set DROVER_RPC_PORT to another one');

    const exposed = started(startUp(`${directory}/4`, { args: ['--no-keys', '--host', '0.0.0.0'] }));
    expect((await exposed.exited).code).toBe(78);
    expect(exposed.output).toContain('DROVER_FUNCTION_KEYS must be on');
  });
});
