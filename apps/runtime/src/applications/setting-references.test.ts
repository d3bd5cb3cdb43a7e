import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Settings } from './settings.js';
import { resolveOptions, resolveSettings, settingReferences } from './setting-references.js';

const settings = new Settings({ A: 'one', 'B.c': 'two', Loop: '%A%' });

describe('setting references', () => {
  it.each([
    ['%A%-%b.C%', 'one-two'],
    ['100% of %A%', '100% of one'],
    ['%%A%%', '%one%'],
    ['%Loop%', '%A%'],
    ['50% off %', '50% off %'],
  ])('%s becomes %s', (text, expected) => {
    expect(resolveSettings(text, settings)).toEqual({ text: expected });
  });

  it('name what is missing', () => {
    expect(resolveSettings('%A%%Gone%', settings)).toEqual({ missing: 'Gone' });
    expect(settingReferences('%A%%Gone%')).toEqual(['A', 'Gone']);
  });

  it('leave text without percent signs alone', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const plain = text.replaceAll('%', '');
        expect(resolveSettings(plain, settings)).toEqual({ text: plain });
      }),
    );
  });

  it('are put into options, except where a percent sign is probably meant', () => {
    expect(resolveOptions({ queueName: '%A%', n: 5, route: '%nope%', deep: { x: '%A%' } }, settings)).toEqual({
      options: { queueName: 'one', n: 5, route: '%nope%', deep: { x: '%A%' } },
    });
    expect(resolveOptions({ queueName: '%nope%' }, settings)).toHaveProperty('problem');
  });
});
