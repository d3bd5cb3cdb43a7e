import protobuf from 'protobufjs';
import type { ProtoEnum, ProtoField, ProtoFile, ProtoMessage, ProtoService } from './proto-model.js';

/**
 * Reads one .proto file with the parser of protobufjs. Each file gets a root of its own: its parts stay in their order, and
 * names stay as written, for the schema to resolve. Throws for what the generator has no code for.
 */
export function parseProto(source: string): ProtoFile {
  const options = { keepCase: true, alternateCommentMode: true };
  const parsed = protobuf.parse(source, new protobuf.Root(), options);
  const scope = parsed.package ?? '';
  const namespace = scope === '' ? parsed.root : parsed.root.lookup(scope);
  const parts = namespace instanceof protobuf.Namespace ? namespace.nestedArray : [];
  const messages: ProtoMessage[] = [];
  const enums: ProtoEnum[] = [];
  const services: ProtoService[] = [];
  for (const part of parts) {
    if (part instanceof protobuf.Type) {
      messages.push(toMessage(part));
      for (const nested of part.nestedArray) enums.push(toEnum(nested, 'nested, and not an enumeration'));
    } else if (part instanceof protobuf.Service) services.push(toService(part));
    else enums.push(toEnum(part, 'neither a message nor an enumeration nor a service'));
  }
  return { package: scope, imports: parsed.imports ?? [], messages, enums, services };
}

function toMessage(type: protobuf.Type): ProtoMessage {
  return { doc: docOf(type), name: nameOf(type), fields: type.fieldsArray.map(toField) };
}

function toField(field: protobuf.Field): ProtoField {
  const { name, id: number, type, partOf } = field;
  if (field.options?.['proto3_optional']) throw unsupported(field, 'an optional field');
  if (field instanceof protobuf.MapField && field.keyType !== 'string') {
    throw unsupported(field, `a map with keys of type ${field.keyType}`);
  }
  const label = field.map ? 'map' : field.repeated ? 'repeated' : 'singular';
  return { doc: docOf(field), name, number, label, type, oneof: partOf?.name };
}

function toEnum(part: protobuf.ReflectionObject, otherwise: string): ProtoEnum {
  if (!(part instanceof protobuf.Enum)) throw unsupported(part, otherwise);
  return { doc: docOf(part), name: nameOf(part), values: Object.entries(part.values) };
}

function toService(service: protobuf.Service): ProtoService {
  return { name: nameOf(service), methods: service.methodsArray.map(({ name }) => name) };
}

/** The full name without the leading dot. */
function nameOf(part: protobuf.ReflectionObject): string {
  return part.fullName.replace(/^\./, '');
}

/** The comment of a definition in one line. */
function docOf({ comment }: protobuf.ReflectionObject): string {
  return comment?.replaceAll('\n', ' ') ?? '';
}

function unsupported(part: protobuf.ReflectionObject, what: string): Error {
  return new Error(`${nameOf(part)} is ${what}, which the generator does not support. Extend src/generator first.`);
}
