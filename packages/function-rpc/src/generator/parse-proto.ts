import type { ProtoEnum, ProtoField, ProtoFile, ProtoMessage, ProtoMethod, ProtoService } from './proto-model.js';
import { TokenStream } from './proto-tokens.js';

/** Reads the subset of proto3 that the protocol uses; anything else is an error that names the line. */
export function parseProto(source: string): ProtoFile {
  const tokens = new TokenStream(source);
  const imports: string[] = [];
  const messages: ProtoMessage[] = [];
  const enums: ProtoEnum[] = [];
  const services: ProtoService[] = [];
  let packageName = '';
  const scoped = (name: string): string => (packageName === '' ? name : `${packageName}.${name}`);

  while (!tokens.done) {
    const { text, doc, line } = tokens.next();
    switch (text) {
      case 'syntax':
        tokens.expect('=');
        tokens.expect('proto3');
        tokens.expect(';');
        break;
      case 'package':
        packageName = tokens.next().text;
        tokens.expect(';');
        break;
      case 'import':
        imports.push(tokens.next().text);
        tokens.expect(';');
        break;
      case 'message':
        messages.push(parseMessage(tokens, doc, scoped(tokens.next().text), enums));
        break;
      case 'enum':
        enums.push(parseEnum(tokens, doc, scoped(tokens.next().text)));
        break;
      case 'service':
        services.push(parseService(tokens, doc, scoped(tokens.next().text)));
        break;
      default:
        throw new Error(`line ${line}: ${text} is not understood here`);
    }
  }
  return { package: packageName, imports, messages, enums, services };
}

function parseMessage(tokens: TokenStream, doc: string, name: string, enums: ProtoEnum[]): ProtoMessage {
  const fields: ProtoField[] = [];
  tokens.expect('{');
  while (!tokens.take('}')) {
    const first = tokens.next();
    if (first.text === 'enum') {
      enums.push(parseEnum(tokens, first.doc, `${name}.${tokens.next().text}`));
    } else if (first.text === 'oneof') {
      const oneof = tokens.next().text;
      tokens.expect('{');
      while (!tokens.take('}')) {
        const member = tokens.next();
        fields.push(parseField(tokens, { doc: member.doc, label: 'singular', type: member.text, oneof }));
      }
    } else if (first.text === 'map') {
      tokens.expect('<');
      tokens.expect('string');
      tokens.expect(',');
      const type = tokens.next().text;
      tokens.expect('>');
      fields.push(parseField(tokens, { doc: first.doc, label: 'map', type, oneof: undefined }));
    } else {
      const repeated = first.text === 'repeated';
      const type = repeated ? tokens.next().text : first.text;
      fields.push(
        parseField(tokens, { doc: first.doc, label: repeated ? 'repeated' : 'singular', type, oneof: undefined }),
      );
    }
  }
  return { doc, name, fields };
}

function parseField(tokens: TokenStream, start: Omit<ProtoField, 'name' | 'number'>): ProtoField {
  const name = tokens.next().text;
  tokens.expect('=');
  const number = tokens.number();
  tokens.expect(';');
  return { ...start, name, number };
}

function parseEnum(tokens: TokenStream, doc: string, name: string): ProtoEnum {
  const values: [string, number][] = [];
  tokens.expect('{');
  while (!tokens.take('}')) {
    const value = tokens.next().text;
    tokens.expect('=');
    values.push([value, tokens.number()]);
    tokens.expect(';');
  }
  return { doc, name, values };
}

function parseService(tokens: TokenStream, doc: string, name: string): ProtoService {
  const methods: ProtoMethod[] = [];
  tokens.expect('{');
  while (!tokens.take('}')) {
    tokens.expect('rpc');
    const method = tokens.next().text;
    const [request, requestStream] = parseEndpoint(tokens);
    tokens.expect('returns');
    const [response, responseStream] = parseEndpoint(tokens);
    tokens.expect(';');
    methods.push({ name: method, request, requestStream, response, responseStream });
  }
  return { doc, name, methods };
}

function parseEndpoint(tokens: TokenStream): [type: string, stream: boolean] {
  tokens.expect('(');
  const stream = tokens.take('stream');
  const type = tokens.next().text;
  tokens.expect(')');
  return [type, stream];
}
