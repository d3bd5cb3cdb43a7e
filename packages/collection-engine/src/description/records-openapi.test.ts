import { describe, expect, it } from 'vitest';
import { recordsOpenApi } from './records-openapi.js';
import { shopDefinitions } from './shop.test.fixture.js';

interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly operationId: string; readonly tags?: string[] }>>>
  >;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

const document = JSON.parse(JSON.stringify(recordsOpenApi(shopDefinitions, '1.2.3'))) as Document;

function* valuesOf(value: unknown, key: string): Generator {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (name === key) yield inner;
    yield* valuesOf(inner, key);
  }
}

describe('recordsOpenApi', () => {
  it('is closed: every reference leads to a part, every operation has a name of its own', () => {
    const references = [...valuesOf(document, '$ref')].map(String);
    expect(references.length).toBeGreaterThan(20);
    for (const reference of references) {
      const parts = reference.replace('#/', '').split('/');
      const target = parts.reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], document);
      expect({ reference, target }).not.toEqual({ reference, target: undefined });
    }
    const ids = [...valuesOf(document.paths, 'operationId')];
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('names components as OpenAPI allows, whatever the name of the collection', () => {
    for (const name of Object.keys(document.components.schemas)) expect(name).toMatch(/^[A-Za-z0-9._-]+$/);
    expect(document.paths).toHaveProperty(['/api/gr%C3%B6%C3%9Fen-2%C2%B2', 'get', 'tags'], ['größen-2²']);
    const twins = recordsOpenApi(
      [
        { name: 'a', fields: [] },
        { name: 'a_new', fields: [] },
        { name: 'errors', fields: [] },
      ],
      '1',
    );
    expect(Object.keys((twins as Document).components.schemas)).toHaveLength(3 * 5 + 1);
  });

  it('leaves out what a definition switches off or does not have', () => {
    const operations = (path: string): string[] => Object.keys(document.paths[path] ?? {});
    expect(operations('/api/orders')).toEqual(['get', 'post', 'patch', 'put', 'delete']);
    expect(operations('/api/orders/{id}/restore')).toEqual(['post']);
    expect(operations('/api/customers/{id}/restore')).toEqual([]);
    expect(operations('/api/customers/{id}/versions')).toEqual([]);
    const sizes = '/api/gr%C3%B6%C3%9Fen-2%C2%B2';
    expect(operations(sizes)).toEqual(['get']);
    expect(operations(`${sizes}/{id}`)).toEqual(['get']);
    for (const path of ['import', '_changes', 'stream']) expect(operations(`${sizes}/${path}`)).toEqual([]);
  });

  it('describes values as the engine takes and shows them', () => {
    const { orders, orders_new: created, customers_new: customer } = document.components.schemas;
    expect(orders).toMatchObject({
      properties: {
        type: { const: 'orders' },
        attributes: {
          properties: {
            number: { type: 'string', readOnly: true },
            status: { type: 'string', enum: ['open', 'it\'s "done"'], default: 'open' },
            tags: { type: ['array', 'null'], items: { enum: ['a', 'b'] } },
            total: { type: ['number', 'null'], minimum: 0 },
            big: { type: ['boolean', 'null'], readOnly: true },
            place: { type: ['object', 'null'], required: ['latitude', 'longitude'] },
            list: { type: ['array', 'null'], items: { type: 'number' }, maxItems: 3 },
            'placed-at': { type: ['string', 'null'], format: 'date-time' },
            deletedAt: { type: ['string', 'null'] },
          },
        },
        relationships: {
          properties: { customer: { properties: { data: { properties: { type: { const: 'customers' } } } } } },
        },
      },
    });
    const bare = (schema: unknown): unknown => (schema as { readonly anyOf: readonly unknown[] }).anyOf[1];
    expect(bare(created)).toMatchObject({ required: ['customer'], additionalProperties: false });
    expect(bare(created)).not.toHaveProperty(['properties', 'number']);
    expect(bare(created)).not.toHaveProperty(['properties', 'id']);
    expect(bare(customer)).toMatchObject({ required: ['name'], properties: { name: { pattern: '^(?:[a-z]+)$' } } });
  });
});
