import { describe, expect, it } from 'vitest';
import { AppSlot } from './app-slot.js';
import { createCoreModule } from './core-module.js';
import { Disposable } from './disposable.js';
import { FunctionApp } from './function-app.js';
import type { CoreFunctionMetadata, FunctionCallback, ProgrammingModel } from './functions-core.js';
import { runHooks } from './hooks.js';
import { findEntryPoint } from './legacy-function.js';

const model: ProgrammingModel = { name: 'm', version: '1', getInvocationModel: () => expect.unreachable() };
const metadata = (name: string): CoreFunctionMetadata => ({
  name,
  bindings: { t: { type: 'queueTrigger', direction: 'in' } },
});
const run: FunctionCallback = () => undefined;

describe('FunctionApp', () => {
  it('refuses two functions of one id', () => {
    const app = new FunctionApp(() => model);
    app.register(metadata('f'), run);
    expect(() => app.register(metadata('f'), run)).toThrow('A function with id "f" has already been registered.');
    app.register({ ...metadata('f'), functionId: 'g' }, run);
    expect(app.functionIds).toEqual(['f', 'g']);
  });

  it('undoes a registration until it is locked', () => {
    const app = new FunctionApp(() => model);
    app.register(metadata('f'), run).dispose();
    expect(app.registeredCount).toBe(0);
    const kept = app.register(metadata('g'), run);
    app.lock();
    expect(() => kept.dispose()).toThrow('A function can only be disposed during app startup.');
    expect(app.registeredCount).toBe(1);
  });

  it('names the file that registers, or none', () => {
    const app = new FunctionApp(() => model);
    app.currentFile = '/app/src/f.js';
    app.register(metadata('f'), run);
    app.currentFile = undefined;
    app.register(metadata('late'), run);
    expect(app.rpcMetadata.map(({ scriptFile, directory }) => [scriptFile, directory])).toEqual([
      ['f.js', '/app/src'],
      ['unknown', ''],
    ]);
  });

  it('preserves unknown names in the raw binding', () => {
    const app = new FunctionApp(() => model);
    app.register(
      { name: 'f', bindings: { t: { type: 'xTrigger', direction: 'in', dataType: 'novel', extra: { a: 1 } } } },
      run,
    );
    expect(app.rpcMetadata[0]?.bindings).toEqual({
      t: { type: 'xTrigger', direction: 0, dataType: 0, properties: {} },
    });
    expect(JSON.parse(app.rpcMetadata[0]?.rawBindings?.[0] ?? '')).toEqual({
      type: 'xTrigger',
      direction: 'in',
      dataType: 'novel',
      extra: { a: 1 },
      name: 't',
    });
  });
});

describe('AppSlot', () => {
  it('runs a second app with the model that a first one has set, since libraries set theirs once', () => {
    const apps = new AppSlot();
    apps.setModel(model);
    apps.reset();
    expect(apps.current.programmingModel).toBeUndefined();
    apps.current.register(metadata('f'), run);
    expect(apps.current.find('f')?.model()).toBe(model);
  });

  it('gives the model back as it was set, whatever is used in its place', () => {
    const apps = new AppSlot((given) => ({ ...given, name: 'prepared' }));
    const core = createCoreModule({
      apps,
      workerVersion: '1',
      hostVersion: () => '4',
      log: () => undefined,
      defaultModel: () => ({ ...model, name: 'default' }),
    }) as { getProgrammingModel(): ProgrammingModel; setProgrammingModel(given: ProgrammingModel): void };
    expect(core.getProgrammingModel().name).toBe('default');
    core.setProgrammingModel(model);
    expect(core.getProgrammingModel()).toBe(model);
    expect(apps.current.programmingModel?.name).toBe('prepared');
  });
});

describe('hooks', () => {
  it('run in order until one throws, and can be disposed', async () => {
    const { hooks } = new FunctionApp(() => model);
    const seen: string[] = [];
    hooks.register('appStart', () => seen.push('a'));
    hooks.register('appStart', () => seen.push('b')).dispose();
    hooks.register('appStart', () => Promise.reject(new Error('c')));
    hooks.register('appStart', () => seen.push('d'));
    await expect(runHooks(hooks.appStart, {})).rejects.toThrow('c');
    expect(seen).toEqual(['a']);
  });

  it('of an unknown name are refused as a library expects it', () => {
    const { hooks } = new FunctionApp(() => model);
    expect(() => hooks.register('novel', () => undefined)).toThrow(
      expect.objectContaining({ name: 'RangeError', isAzureFunctionsSystemError: true }),
    );
  });
});

describe('Disposable', () => {
  it('acts once, and for many', () => {
    let count = 0;
    const one = new Disposable(() => count++);
    Disposable.from(one, one, null, {}).dispose();
    expect(count).toBe(1);
  });
});

describe('the entry point of a v3 script', () => {
  const a = (): string => 'a';
  const b = (): string => 'b';

  it.each([
    ['the export itself', a, '', 'a'],
    ['the only member', { anything: a }, '', 'a'],
    ['the named one', { a, b }, 'b', 'b'],
    ['run', { run: a, b }, '', 'a'],
    ['index', { index: a, b }, '', 'a'],
    ['the default among others', { default: a, b }, '', 'a'],
    ['a member of the default', { default: { a, b } }, 'b', 'b'],
    ['a member of a function', Object.assign(() => 'function', { b }), 'b', 'b'],
  ])('is %s', (_, exports, entryPoint, expected) => {
    expect(findEntryPoint(exports, entryPoint)()).toBe(expected);
  });

  it('is bound to what the script exports', () => {
    const exports = {
      run(this: unknown): boolean {
        return this === exports;
      },
    };
    expect(findEntryPoint(exports, '')()).toBe(true);
  });

  it('cannot be guessed among several, nor be something else than a function', () => {
    expect(() => findEntryPoint({ a, b }, '')).toThrow('Unable to determine function entry point.');
    expect(() => findEntryPoint({ a }, 'c')).toThrow('Unable to determine function entry point: c.');
    expect(() => findEntryPoint({ a: 5 }, '')).toThrow('The resolved entry point is not a function');
    expect(() => findEntryPoint(undefined, '')).toThrow('Unable to determine function entry point.');
  });
});
