import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { app, startRuntime, type LogLine, type Runtime } from '../support/functions.js';

describe('the log of functions', () => {
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await startRuntime({ apps: [app('talkative'), app('busy')] });
  });
  afterAll(async () => void (await runtime.stop()));

  const about = (name: string): readonly LogLine[] => runtime.log.filter((line) => line['function'] === name);
  const said = (name: string): string[] => about(name).map(({ msg }) => msg);

  it('begins with the list of functions, with methods and URLs', () => {
    const listed = runtime.log.find(({ kind }) => kind === 'application.functions');
    expect(listed?.['functions']).toContain(`talk: [GET,POST] ${runtime.url}/api/talk`);
    expect(listed?.msg).toMatch(/^Functions:\n {4}\w+: /);
  });

  it('says when a call begins and how it ends, with function, id and duration on the line', async () => {
    await (await runtime.call('/api/talk')).text();
    await eventually(() => expect(said('talk').at(-1)).toMatch(/^Executed/));
    const [begun, ...others] = about('talk');
    const ended = others.at(-1);
    const invocationId = begun?.['invocationId'];
    expect(begun?.msg).toBe(`Executing 'Functions.talk' (Id=${String(invocationId)})`);
    expect(ended?.msg).toMatch(/^Executed 'Functions\.talk' \(Succeeded, Id=[0-9a-f-]{36}, Duration=\d+ms\)$/);
    expect(ended?.msg).toContain(String(invocationId));
    for (const line of about('talk'))
      expect(line).toMatchObject({ function: 'talk', invocationId, level: expect.any(String) });
  });

  it('has the categories and levels of host.json, below the level of the process too', async () => {
    await (await runtime.call('/api/murmur')).text();
    await eventually(() => expect(said('murmur')).toEqual(['murmur warning']));
    expect(said('talk')).toEqual(expect.arrayContaining(['talk debug', 'talk info', 'talk warning']));
  });

  it('shows a call that failed where only warnings are logged', async () => {
    expect((await runtime.call('/api/murmur?fail=1')).status).toBe(500);
    await eventually(() => expect(said('murmur').join('\n')).toMatch(/Executed 'Functions\.murmur' \(Failed, Id=/));
  });
});
