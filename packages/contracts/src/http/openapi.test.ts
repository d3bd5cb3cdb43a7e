import Type from 'typebox';
import { describe, expect, it } from 'vitest';
import { controlRoutes } from './control-routes.js';
import { toOpenApi, toYaml } from './openapi.js';
import { defineRoute } from './route.js';

const info = { title: 'Test', version: '1.2.3', description: 'For tests' };
const Bird = Type.Object({ name: Type.String() }, { $id: 'Bird' });

const getBird = defineRoute({
  id: 'getBird',
  method: 'GET',
  path: '/birds/{birdId}',
  about: 'One bird',
  access: 'control:read',
  params: Type.Object({ birdId: Type.String() }),
  query: Type.Object({ deep: Type.Optional(Type.Boolean()), lang: Type.String() }),
  responses: {
    200: { about: 'The bird and its flock', schema: Type.Object({ bird: Bird, flock: Type.Array(Bird) }) },
    404: { about: 'Flown', schema: Type.String(), contentType: 'text/plain' },
  },
});
const putBird = defineRoute({
  id: 'putBird',
  method: 'PUT',
  path: '/birds/{birdId}',
  about: 'Puts a bird',
  access: 'public',
  params: Type.Object({ birdId: Type.String() }),
  body: Bird,
  responses: { 204: { about: 'Done' } },
});

interface Operation {
  readonly operationId: string;
  readonly security: readonly object[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: object }>>;
}
interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** As it goes over the wire: what JSON drops is not part of the document. */
function documentOf(...routes: Parameters<typeof toOpenApi>[1]): Document {
  return JSON.parse(JSON.stringify(toOpenApi(info, routes))) as Document;
}

/** Every object of a document, at any depth. */
function* objectsIn(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Record<string, unknown>;
  for (const inner of Object.values(value)) yield* objectsIn(inner);
}

function resolve(document: unknown, reference: string): unknown {
  return reference
    .replace(/^#\//, '')
    .split('/')
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], document);
}

const control = documentOf(...Object.values(controlRoutes));
const both = documentOf(getBird, putBird);

describe('toOpenApi', () => {
  it('describes a file that is uploaded by its type', () => {
    const { body: _, ...rest } = putBird;
    const route = defineRoute({ ...rest, upload: { contentType: 'application/zip', about: 'An egg' } });
    expect(documentOf(route).paths['/birds/{birdId}']?.['put']).toMatchObject({
      requestBody: { required: true, description: 'An egg', content: { 'application/zip': {} } },
    });
  });

  it('describes parameters, body, answers and access of each operation', () => {
    expect(both.paths['/birds/{birdId}']?.['get']).toEqual({
      operationId: 'getBird',
      summary: 'One bird',
      security: [{ apiKey: ['control:read'] }],
      parameters: [
        { name: 'birdId', in: 'path', required: true, schema: { type: 'string' } },
        { name: 'deep', in: 'query', required: false, schema: { type: 'boolean' } },
        { name: 'lang', in: 'query', required: true, schema: { type: 'string' } },
      ],
      responses: {
        200: {
          description: 'The bird and its flock',
          content: { 'application/json': { schema: expect.objectContaining({ type: 'object' }) } },
        },
        404: { description: 'Flown', content: { 'text/plain': { schema: { type: 'string' } } } },
        default: expect.objectContaining({ description: 'An error of the catalogue' }),
      },
    });
    const put = both.paths['/birds/{birdId}']?.['put'];
    expect(put).toMatchObject({ security: [], requestBody: { required: true } });
    expect(put?.responses['204']).toEqual({ description: 'Done' });
  });

  it('leaves no $id inside, at any depth: it would change what a reference means', () => {
    for (const document of [both, control])
      expect([...objectsIn(document)].filter((object) => '$id' in object)).toEqual([]);
    expect(Bird).toHaveProperty('$id', 'Bird');
  });

  it('has a target for every reference', () => {
    const references = [...objectsIn(control)].flatMap(({ $ref }) => (typeof $ref === 'string' ? [$ref] : []));
    expect(references).toContain('#/components/schemas/Error');
    expect(references.filter((reference) => typeof resolve(control, reference) !== 'object')).toEqual([]);
  });

  it('is a structurally valid OpenAPI 3.1 document for the control plane', () => {
    expect(control).toMatchObject({ openapi: '3.1.0', info: { title: 'Test', version: '1.2.3' } });
    const ids: string[] = [];
    for (const [path, item] of Object.entries(control.paths)) {
      expect(path).toMatch(/^\/[\w./{}-]*$/);
      for (const [method, operation] of Object.entries(item)) {
        ids.push(operation.operationId);
        expect(['get', 'post', 'patch', 'put', 'delete']).toContain(method);
        const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
        const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
        expect(declared.map(({ name }) => name)).toEqual(inPath);
        expect(declared.every(({ required }) => required)).toBe(true);
        expect(Object.keys(operation.responses)).toContain('default');
        for (const [status, { description }] of Object.entries(operation.responses)) {
          expect(status).toMatch(/^([1-5]\d\d|default)$/);
          expect(description).not.toBe('');
        }
      }
    }
    expect(ids.toSorted()).toEqual(Object.keys(controlRoutes).toSorted());
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('names each route of the table by its own id, which is the name of the client method', () => {
    for (const [name, route] of Object.entries(controlRoutes)) expect(route.id).toBe(name);
  });

  it('describes the routes it is given and no others', () => {
    expect(documentOf().paths).toEqual({});
    expect(Object.keys(both.paths)).toEqual(['/birds/{birdId}']);
  });
});

describe('toYaml', () => {
  it('quotes names and texts, so that nothing is taken for another type', () => {
    const value = { on: 'yes', '200': { list: [1, 'a: b # c', [], {}, { deep: [null, true] }], text: 'two\nlines' } };
    expect(toYaml(value)).toBe(
      `"200":
  "list":
    - 1
    - "a: b # c"
    - []
    - {}
    -
      "deep":
        - null
        - true
  "text": "two\\nlines"
"on": "yes"
`,
    );
  });

  it('leaves out what JSON leaves out', () => {
    expect(toYaml({ a: undefined, b: 1 })).toBe('"b": 1\n');
  });
});
