import { describe, expect, it } from 'vitest';
import { parseProto } from './parse-proto.js';

// In two parts, lest it be taken for an import of this file.
const imported = ['import', '"other.proto";'].join(' ');
const head = 'syntax = "proto3";\n';

describe('parseProto', () => {
  it('reads messages, enumerations, oneofs, maps and services, with the comments above them', () => {
    const file = parseProto(`${head}package a.b;
${imported}

// Not about the message.

// What it is,
// in two lines.
message Thing {
  enum Color { red = 0; green = 1; }
  // Its colour.
  Color color = 1;
  repeated string names = 2;
  map<string, Thing> parts = 3;
  oneof choice {
    bytes left = 4;
    double right = 5;
  }
}
service Things { rpc Get (Thing) returns (stream Thing); }
`);
    expect(file.package).toBe('a.b');
    expect(file.imports).toEqual(['other.proto']);
    expect(file.enums).toEqual([
      {
        doc: '',
        name: 'a.b.Thing.Color',
        values: [
          ['red', 0],
          ['green', 1],
        ],
      },
    ]);
    const [thing] = file.messages;
    expect(thing).toMatchObject({ name: 'a.b.Thing', doc: 'What it is, in two lines.' });
    expect(
      thing?.fields.map(({ doc, label, type, name, number, oneof }) => [doc, label, type, name, number, oneof]),
    ).toEqual([
      ['Its colour.', 'singular', 'Color', 'color', 1, undefined],
      ['', 'repeated', 'string', 'names', 2, undefined],
      ['', 'map', 'Thing', 'parts', 3, undefined],
      ['', 'singular', 'bytes', 'left', 4, 'choice'],
      ['', 'singular', 'double', 'right', 5, 'choice'],
    ]);
    expect(file.services).toEqual([{ name: 'a.b.Things', methods: ['Get'] }]);
  });

  it.each([
    [`${head}message Thing { string name = x; }`, "illegal id 'x' (line 2)"],
    [`${head}message Thing { map<int32, string> by = 1; }`, 'Thing.by is a map with keys of type int32'],
    [`${head}message Thing { message Inner {} }`, 'Thing.Inner is nested, and not an enumeration'],
    [`${head}message Thing { optional string name = 1; }`, 'Thing.name is an optional field'],
  ])('refuses what it cannot read or generate: %j', (source, complaint) => {
    expect(() => parseProto(source)).toThrow(complaint);
  });
});
