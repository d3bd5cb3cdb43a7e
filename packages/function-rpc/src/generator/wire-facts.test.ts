import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ProtoField, ProtoFile } from './proto-model.js';
import { parseProto } from './parse-proto.js';
import { packageFolder, protocolSchema } from './schema.js';

/** What is known of the protocol from its traffic, recorded independently of the definition. */
interface WireFacts {
  readonly messages: Readonly<Record<string, readonly string[]>>;
  readonly enums: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const proto = (file: string): string => readFileSync(path.join(packageFolder, 'proto', file), 'utf8');
const facts = JSON.parse(proto('wire-facts.json')) as WireFacts;
const files: ProtoFile[] = [
  'FunctionRpc.proto',
  'identity/ClaimsIdentityRpc.proto',
  'shared/NullableTypes.proto',
  'google/protobuf/duration.proto',
  'google/protobuf/timestamp.proto',
].map((file) => parseProto(proto(file)));

describe('the definition of the protocol', () => {
  const messages = new Map(files.flatMap((file) => file.messages.map((message) => [message.name, message] as const)));
  const known = new Set([...Object.keys(facts.messages), ...Object.keys(facts.enums)]);

  const fullType = ({ type }: ProtoField, scope: string): string => {
    for (let within = scope; within !== ''; within = within.slice(0, Math.max(0, within.lastIndexOf('.')))) {
      if (known.has(`${within}.${type}`)) return `${within}.${type}`;
    }
    return type;
  };

  it.each(Object.entries(facts.messages))('has the fields of %s that travel on the wire', (name, expected) => {
    const fields = messages.get(name)?.fields ?? [];
    const lines = fields
      .toSorted((a, b) => a.number - b.number)
      .map((field) => {
        const type = fullType(field, name);
        const labelled = { singular: type, repeated: `repeated ${type}`, map: `map<string, ${type}>` }[field.label];
        return `${field.number} ${labelled} ${field.name}${field.oneof === undefined ? '' : ` oneof ${field.oneof}`}`;
      });
    expect(lines).toEqual(expected);
  });

  it('has no message and no enumeration beyond those', () => {
    expect([...messages.keys()].toSorted()).toEqual(Object.keys(facts.messages).toSorted());
  });

  it('has the values of all enumerations', () => {
    const enums = Object.fromEntries(
      files.flatMap((file) => file.enums.map(({ name, values }) => [name, Object.fromEntries(values)])),
    );
    expect(enums).toEqual(facts.enums);
  });

  it('has the two services under the paths that workers call', () => {
    const { services } = protocolSchema();
    expect(services.map(({ name, methods }) => [name, methods])).toEqual([
      ['AzureFunctionsRpcMessages.FunctionRpc', ['EventStream']],
      [
        'Settlement',
        [
          'Complete',
          'Abandon',
          'Defer',
          'Deadletter',
          'RenewMessageLock',
          'GetSessionState',
          'SetSessionState',
          'ReleaseSession',
          'RenewSessionLock',
        ],
      ],
    ]);
  });
});
