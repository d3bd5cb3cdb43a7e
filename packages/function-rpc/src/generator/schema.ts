import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { ProtoField, ProtoFile, ProtoService, Scalar } from './proto-model.js';
import { parseProto } from './parse-proto.js';
import { fileURLToPath } from 'node:url';

/** The folder of this package, found from its sources or its build. */
export const packageFolder = findPackage(path.dirname(fileURLToPath(import.meta.url)));

/** Reads the protocol from the .proto files. */
export function protocolSchema(): Schema {
  return loadSchema(path.join(packageFolder, 'proto'), ['FunctionRpc.proto', 'Settlement.proto']);
}

function findPackage(directory: string): string {
  return existsSync(path.join(directory, 'package.json')) ? directory : findPackage(path.dirname(directory));
}

const scalars: ReadonlySet<string> = new Set<Scalar>(['string', 'bytes', 'bool', 'int32', 'int64', 'sint64', 'double']);

/** The resolved type of a field. */
export type FieldType =
  | { readonly kind: 'scalar'; readonly scalar: Scalar }
  | { readonly kind: 'enum'; readonly enum: string }
  | { readonly kind: 'message'; readonly message: string };

/** A field with its type resolved. */
export interface Field extends Omit<ProtoField, 'type'> {
  /** The name of the property. */
  readonly property: string;
  readonly type: FieldType;
  /** Identifies the field for the writer; unique among nested messages, maps and packed lists, -1 for others. */
  readonly place: number;
}

/** A message and the name of its interface. */
export interface Message {
  readonly doc: string;
  readonly protoName: string;
  /** The name of the interface. */
  readonly name: string;
  /** Sorted by number, which is the order on the wire. */
  readonly fields: readonly Field[];
}

/** An enumeration and the name of its constant. */
export interface Enumeration {
  readonly doc: string;
  readonly protoName: string;
  readonly name: string;
  readonly values: readonly (readonly [name: string, value: number])[];
}

/** All messages of all files. */
export interface Schema {
  readonly messages: readonly Message[];
  readonly enums: readonly Enumeration[];
  readonly services: readonly ProtoService[];
}

/** Reads the files and their imports, relative to `folder`. */
function loadSchema(folder: string, entries: readonly string[]): Schema {
  const files = new Map<string, ProtoFile>();
  const load = (name: string): void => {
    if (files.has(name)) return;
    const file = parseProto(readFileSync(path.join(folder, name), 'utf8'));
    files.set(name, file);
    file.imports.forEach(load);
  };
  entries.forEach(load);
  return resolve([...files.values()]);
}

function resolve(files: readonly ProtoFile[]): Schema {
  const enumNames = new Set(files.flatMap((file) => file.enums.map(({ name }) => name)));
  const messageNames = new Set(files.flatMap((file) => file.messages.map(({ name }) => name)));
  const packages = files.map((file) => file.package);

  const typeOf = (type: string, scope: string): FieldType => {
    if (scalars.has(type)) return { kind: 'scalar', scalar: type as Scalar }; // just checked
    for (let within = scope; ; within = within.slice(0, Math.max(0, within.lastIndexOf('.')))) {
      const candidate = within === '' ? type : `${within}.${type}`;
      if (messageNames.has(candidate)) return { kind: 'message', message: tsName(candidate, packages) };
      if (enumNames.has(candidate)) return { kind: 'enum', enum: tsName(candidate, packages) };
      if (within === '') throw new Error(`${scope} uses ${type}, which is not defined`);
    }
  };

  let places = 0;
  const messages = files
    .flatMap((file) => file.messages)
    .map((message) => ({
      doc: message.doc,
      protoName: message.name,
      name: tsName(message.name, packages),
      fields: message.fields
        .map((field) => {
          const type = typeOf(field.type, message.name);
          const place = isNested(field.label, type) ? places++ : -1;
          return { ...field, property: camelCase(field.name), type, place };
        })
        .toSorted((a, b) => a.number - b.number),
    }));
  const enums = files
    .flatMap((file) => file.enums)
    .map((entry) => ({ ...entry, protoName: entry.name, name: tsName(entry.name, packages) }));
  return { messages, enums, services: files.flatMap((file) => file.services) };
}

/** True for values whose length is not known before they are written. */
function isNested(label: ProtoField['label'], type: FieldType): boolean {
  return label === 'map' || type.kind === 'message' || (label === 'repeated' && isPacked(type));
}

/** True for lists that are written packed. */
export function isPacked(type: FieldType): boolean {
  return type.kind === 'enum' || (type.kind === 'scalar' && type.scalar !== 'string' && type.scalar !== 'bytes');
}

/** Maps `AzureFunctionsRpcMessages.RpcLog.RpcLogCategory` to `RpcLogCategory`, and `…RpcLog.Level` to `RpcLogLevel`. */
function tsName(protoName: string, packages: readonly string[]): string {
  const owner = packages.filter((name) => name !== '' && protoName.startsWith(`${name}.`)).toSorted()[0] ?? '';
  const [first = '', ...rest] = protoName.slice(owner === '' ? 0 : owner.length + 1).split('.');
  return rest.reduce((name, part) => (part.startsWith(name) ? part : name + part), first);
}

function camelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
