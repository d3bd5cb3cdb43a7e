import type { TSchema } from 'typebox';
import { ErrorBody } from './error-body.js';
import type { Route } from './route.js';

export interface OpenApiInfo {
  readonly title: string;
  readonly version: string;
  readonly description: string;
}

interface ObjectSchema {
  readonly properties: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
}

/** Returns the OpenAPI 3.1 document of these routes. */
export function toOpenApi(info: OpenApiInfo, routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  return {
    openapi: '3.1.0',
    info,
    paths,
    components: {
      schemas: { Error: withoutId(ErrorBody) },
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'API key: drv_<id>_<secret>' } },
    },
  };
}

function operation(route: Route): object {
  const responses: Record<string, object> = {};
  for (const [status, response] of Object.entries(route.responses)) {
    const { about, schema, contentType = 'application/json' } = response;
    responses[status] = {
      description: about,
      ...(schema && { content: { [contentType]: { schema: withoutId(schema) } } }),
    };
  }
  responses['default'] = {
    description: 'An error of the catalogue',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  };
  return {
    operationId: route.id,
    summary: route.about,
    security: route.access === 'public' ? [] : [{ apiKey: [route.access] }],
    ...(parametersOf(route).length > 0 && { parameters: parametersOf(route) }),
    ...(route.body && {
      requestBody: { required: true, content: { 'application/json': { schema: withoutId(route.body) } } },
    }),
    ...(route.upload && {
      requestBody: { required: true, description: route.upload.about, content: { [route.upload.contentType]: {} } },
    }),
    responses,
  };
}

function parametersOf({ params, query, headers }: Route): object[] {
  const list = (schema: TSchema | undefined, where: 'path' | 'query' | 'header'): object[] => {
    if (!schema) return [];
    const { properties, required = [] } = schema as unknown as ObjectSchema; // routes declare objects here
    return Object.entries(properties).map(([name, property]) => ({
      name,
      in: where,
      required: where === 'path' || required.includes(name),
      schema: withoutId(property),
    }));
  };
  return [...list(params, 'path'), ...list(query, 'query'), ...list(headers, 'header')];
}

/** Removes `$id`, which names a schema for validators but would change the base of `$ref` inside an OpenAPI document. */
function withoutId(schema: TSchema): unknown {
  return JSON.parse(JSON.stringify(schema, (key, value: unknown) => (key === '$id' ? undefined : value)));
}

/**
 * Writes a JSON value as YAML in block style. Names and texts are quoted as in JSON, whose strings are valid in YAML, so that no value
 * is taken for a date, a number or a boolean.
 */
export function toYaml(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return `${JSON.stringify(value)}\n`;
  const isList = Array.isArray(value);
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  if (entries.length === 0) return isList ? '[]\n' : '{}\n';
  const lines = entries.map(([name, inner]) => {
    const isNested = typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0;
    const begin = isList ? `${indent}-` : `${indent}${JSON.stringify(name)}:`;
    return `${begin}${isNested ? '\n' : ' '}${toYaml(inner, `${indent}  `)}`;
  });
  return lines.join('');
}
