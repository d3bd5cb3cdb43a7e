import { describe, expect, it } from 'vitest';
import { parseDefinitions } from './definition-files.js';

const names = (text: string): string[] => parseDefinitions(text, 'orders.yaml').collections.map(({ name }) => name);

describe('parseDefinitions', () => {
  it.each([
    ['a definition in YAML', 'name: orders\nfields:\n  - { name: number, type: STRING }\n', ['orders']],
    ['a definition in JSON', '{"name": "orders", "fields": [{"name": "number", "type": "STRING"}]}', ['orders']],
    ['a list', '- name: orders\n- name: lines\n', ['orders', 'lines']],
    ['a list in JSON', '[{"name": "orders"}, {"name": "lines"}]', ['orders', 'lines']],
    ['an object with a list', 'collections:\n  - name: orders\n  - name: lines\n', ['orders', 'lines']],
    ['several documents', 'name: orders\n---\nname: lines\n---\n', ['orders', 'lines']],
    ['a name in any script', 'name: größen', ['größen']],
  ])('reads %s', (_, text, expected) => {
    expect(names(text)).toEqual(expected);
  });

  it('reads picklists beside collections, or alone', () => {
    const text = 'picklists:\n  - { name: countries, values: [de, us] }\ncollections:\n  - name: addresses\n';
    expect(parseDefinitions(text, 'f.yaml')).toEqual({
      collections: [{ name: 'addresses' }],
      picklists: [{ name: 'countries', values: ['de', 'us'] }],
    });
    expect(parseDefinitions('picklists: [{ name: a, values: [x] }]', 'f.yaml')).toMatchObject({ collections: [] });
    expect(() => parseDefinitions('picklists: [{ values: [x] }]', 'f.yaml')).toThrow('Give each picklist a "name"');
  });

  it('takes words as text where YAML 1.1 has booleans, and expands aliases', () => {
    const {
      collections: [definition],
    } = parseDefinitions(
      'x: &text { type: STRING, required: true }\nname: no\nfields:\n  - { <<: *text, name: on }\n',
      'f.yaml',
    );
    expect(definition).toMatchObject({ name: 'no', fields: [{ name: 'on' }] });
  });

  it.each([
    ['nothing', '', 'The file orders.yaml is empty.'],
    ['only separators', '---\n---\n', 'defines no collection'],
    ['no name', 'fields: []', 'without a name'],
    ['a number for a name', '[{"name": 7}]', 'without a name'],
    ['a scalar', 'orders', 'without a name'],
    ['broken YAML', 'name: orders\nfields: [\n', 'line 3'],
    ['a key twice', 'name: a\nname: b\n', 'line 2'],
    ['a file that grows when it is read', billion(), 'alias'],
  ])('refuses %s', (_, text, message) => {
    expect(() => names(text)).toThrow(message);
  });
});

/** Nine lists of nine lists of … : a billion items. */
function billion(): string {
  const lines = Array.from({ length: 9 }, (_, n) => `a${n}: &a${n} [${`*a${n - 1},`.repeat(9)}]`);
  return ['name: x', 'a0: &a0 [x]', ...lines.slice(1), ''].join('\n');
}
