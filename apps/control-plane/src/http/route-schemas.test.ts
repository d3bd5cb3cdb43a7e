import * as contracts from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { compileSerializer, compileValidator, whenFirstUsed } from './route-schemas.js';

const routes = Object.entries(contracts)
  .flatMap(([name, group]) => (name.endsWith('Routes') ? Object.values(group as Record<string, contracts.Route>) : []))
  .map((route) => ({ url: route.path, ...route }));

describe('the schemas of the routes', () => {
  // The start compiles none of them, so a mistake in one would be seen by the first caller of its route.
  it('compile, those of requests and those of answers', () => {
    expect(routes.length).toBeGreaterThan(60);
    const problems: string[] = [];
    const use = (what: string, value: () => unknown): void => {
      try {
        value();
      } catch (error) {
        // An empty object lacks what most answers require: the serializer was compiled if it says so.
        const message = error instanceof Error ? error.message : String(error);
        if (!/ is required!$|does not match schema definition/.test(message)) problems.push(`${what}: ${message}`);
      }
    };
    for (const { method, url, params, query, body, responses } of routes) {
      for (const [httpPart, schema] of Object.entries({ params, querystring: query, body }))
        if (schema) use(`${method} ${url} ${httpPart}`, () => compileValidator({ schema, method, url, httpPart })({}));
      for (const [httpStatus, { schema, contentType }] of Object.entries(responses))
        if (schema && !contentType)
          use(`${method} ${url} ${httpStatus}`, () => compileSerializer({ schema, method, url, httpStatus })({}));
    }
    expect(problems).toEqual([]);
  });

  it('are not looked at before they are used', () => {
    const schema = { type: 'no such type' };
    const validate = compileValidator({ schema, method: 'POST', url: '/', httpPart: 'body' });
    const serialize = compileSerializer({ schema, method: 'POST', url: '/', httpStatus: '200' });
    expect(() => validate({})).toThrow('type');
    expect(() => serialize({})).toThrow('type');
  });
});

describe('whenFirstUsed', () => {
  it('makes the value once', () => {
    let made = 0;
    const value = whenFirstUsed(() => ({ number: (made += 1) }));
    expect(made).toBe(0);
    expect([value(), value()]).toEqual([{ number: 1 }, { number: 1 }]);
  });
});
