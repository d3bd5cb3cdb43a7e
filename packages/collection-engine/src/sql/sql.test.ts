import { describe, expect, it } from 'vitest';
import { constant, identifier, join, parameter, sql, type Sql } from './sql.js';

describe('an SQL statement', () => {
  it('numbers its parameters in the order of their use', () => {
    const condition = sql`${identifier('a')} = ${parameter(1)}`;
    const statement = sql`select ${parameter('x')} where ${join([condition, condition], sql` and `)}`;
    expect(statement.render()).toEqual({ text: 'select $1 where "a" = $2 and "a" = $3', values: ['x', 1, 1] });
  });

  it('quotes identifiers and constants', () => {
    expect(identifier('drover', 'a"; drop table b; --').render().text).toBe('"drover"."a""; drop table b; --"');
    expect(constant("it's").render().text).toBe("'it''s'");
    expect(constant("\\'").render().text).toBe(" E'\\\\'''");
  });

  it('takes no text as a part', () => {
    expect(() => sql`select ${'1; drop table a' as unknown as Sql}`).toThrow('must be a fragment');
    expect(() => identifier('a\0b')).toThrow('NUL');
  });
});
