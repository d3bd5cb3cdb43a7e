import { parseSqlAction, parseSqlFilter } from './sql-parser.js';
import { matchesSql, runSqlAction, type SqlParameters } from './sql-evaluate.js';
import {
  compareSql,
  SqlError,
  type FilterSubject,
  type PropertyChanges,
  type SqlValue,
  type SystemProperty,
} from './sql-values.js';

/** The properties a correlation filter can name, as the SDKs spell them, and the broker property each stands for. */
export const correlationFields = {
  correlationId: 'correlationid',
  messageId: 'messageid',
  to: 'to',
  replyTo: 'replyto',
  subject: 'label',
  sessionId: 'sessionid',
  replyToSessionId: 'replytosessionid',
  contentType: 'contenttype',
} as const satisfies Readonly<Record<string, SystemProperty>>;
export type CorrelationField = keyof typeof correlationFields;

export type RuleFilter =
  | { readonly kind: 'true' | 'false' }
  | { readonly kind: 'sql'; readonly expression: string; readonly parameters?: Readonly<Record<string, SqlValue>> }
  | {
      readonly kind: 'correlation';
      readonly system: Readonly<Partial<Record<CorrelationField, string>>>;
      readonly user: Readonly<Record<string, SqlValue>>;
    };

export interface RuleOptions {
  readonly name: string;
  readonly filter: RuleFilter;
  readonly action?: { readonly expression: string; readonly parameters?: Readonly<Record<string, SqlValue>> };
}

/** A rule ready to run. `changes` is absent when the rule has no action. */
export interface CompiledRule {
  readonly options: RuleOptions;
  readonly matches: (subject: FilterSubject) => boolean;
  readonly changes: ((subject: FilterSubject) => PropertyChanges) | undefined;
}

export const defaultRule: RuleOptions = { name: '$Default', filter: { kind: 'true' } };

/** Parses filter and action once. Throws SqlError when either is wrong. */
export function compileRule(options: RuleOptions): CompiledRule {
  return { options, matches: compileFilter(options.filter), changes: compileAction(options.action) };
}

function compileFilter(filter: RuleFilter): CompiledRule['matches'] {
  switch (filter.kind) {
    case 'true':
      return () => true;
    case 'false':
      return () => false;
    case 'sql': {
      const expression = parseSqlFilter(filter.expression);
      const parameters = parameterMap(filter.parameters);
      return (subject) => matchesSql(expression, subject, parameters);
    }
    case 'correlation':
      return compileCorrelation(filter);
  }
}

function compileCorrelation(filter: Extract<RuleFilter, { kind: 'correlation' }>): CompiledRule['matches'] {
  const system = Object.entries(filter.system).map(
    ([name, value]) => [correlationFields[name as CorrelationField], value] as const,
  );
  const user = Object.entries(filter.user);
  if (system.length + user.length === 0) {
    throw new SqlError('The correlation filter names no property. Give it at least one to compare.');
  }
  return (subject) =>
    system.every(([name, value]) => subject.system(name) === value) &&
    user.every(([name, value]) => compareSql(subject.user(name), value) === 0);
}

function compileAction(action: RuleOptions['action']): CompiledRule['changes'] {
  if (action === undefined) return undefined;
  const statements = parseSqlAction(action.expression);
  const parameters = parameterMap(action.parameters);
  return (subject) => runSqlAction(statements, subject, parameters);
}

function parameterMap(parameters: Readonly<Record<string, SqlValue>> | undefined): SqlParameters {
  return new Map(
    Object.entries(parameters ?? {}).map(([name, value]) => [name.startsWith('@') ? name : `@${name}`, value]),
  );
}
