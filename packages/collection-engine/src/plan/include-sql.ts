import type { CollectionModel } from '../model/collection-model.js';
import { flatRecord, recordColumns, recordJson, type RecordView } from '../respond/record-json.js';
import { constant, empty, identifier, join, Sql, sql } from '../sql/sql.js';
import { fieldExpression } from '../storage/field-expression.js';
import type { IncludeNode, ShownFields } from './plan-view.js';
import { integerCode } from './plan-order.js';
import { from, visibleRows, type PlannedCollection, type Planning } from './planning.js';

/** The included records of a statement. */
export interface IncludeSql {
  /** `with` queries after that of the page; each has the rows of one relation. */
  readonly queries: readonly Sql[];
  /** Joins for the records of the page, which `related` refers to. */
  readonly joins: Sql;
  readonly related: ReadonlyMap<string, Sql>;
  /**
   * A query with one row: `included`, the JSON of all included records, separated by commas, null but for JSON:API documents; and
   * `includedCount`, their number, of which each relation is read up to one more than the limit.
   */
  readonly summary: Sql;
}

/** The rows of one relation, under the name of its query. */
interface Rows {
  readonly node: IncludeNode;
  readonly alias: Sql;
  readonly children: readonly Rows[];
}

/**
 * Reads included records in the statement of their page: one query per relation, over the rows of the query that it starts from. A
 * record that several relations lead to is in the response once.
 */
export function includeSql(
  planning: Planning,
  { model }: PlannedCollection,
  nodes: readonly IncludeNode[],
  { page, alias, shown }: { readonly page: Sql; readonly alias: Sql; readonly shown: ShownFields },
): IncludeSql {
  const queries: Sql[] = [];
  const read = (children: readonly IncludeNode[], owner: CollectionModel, rows: Sql): Rows[] =>
    children.map((node) => {
      const name = Sql.code(`i${queries.length + 1}`);
      queries.push(sql`${name} as (${rowsOf(planning, node, owner, rows)})`);
      return { node, alias: name, children: read(node.children, node.relation.target.model, name) };
    });
  const rows = read(nodes, model, page);
  const view = new Viewing(planning, shown);
  return { queries, ...view.join(rows, model, alias), summary: view.summary(allOf(rows), model, page) };
}

const allOf = (rows: readonly Rows[]): Rows[] => rows.flatMap((each) => [each, ...allOf(each.children)]);

function rowsOf(planning: Planning, { relation }: IncludeNode, owner: CollectionModel, rows: Sql): Sql {
  const { target, kind, field } = relation;
  const alias = sql`t`;
  // An array and not a join: PostgreSQL guesses many rows for the page, and would read the whole table to join it.
  const condition =
    kind === 'toOne'
      ? sql`${alias}.id = any(array(select ${fieldExpression(owner, field, rows)} from ${rows}))`
      : sql`${fieldExpression(target.model, field, alias)} = any(array(select ${rows}.id from ${rows}))`;
  const most = integerCode(planning.context.limits.included + 1);
  return sql`select ${alias}.* from ${from(target, alias)} where ${visibleRows(alias, planning.context)} and ${condition} limit ${most}`;
}

/** Builds the JSON of records with their relations. */
class Viewing {
  readonly #planning: Planning;
  readonly #shown: ShownFields;
  #joins = 0;

  constructor(planning: Planning, shown: ShownFields) {
    this.#planning = planning;
    this.#shown = shown;
  }

  /** Joins the rows `alias` of a collection with what their records show of included relations. */
  join(rows: readonly Rows[], owner: CollectionModel, alias: Sql): { joins: Sql; related: Map<string, Sql> } {
    const isJsonApi = this.#planning.context.shape === 'jsonapi';
    const joins: Sql[] = [];
    const related = new Map<string, Sql>();
    for (const each of rows) {
      const { relation } = each.node;
      if (isJsonApi && relation.kind === 'toOne') continue; // its identifier is the value of the field
      this.#joins += 1;
      const name = Sql.code(`j${this.#joins}`);
      const key = relation.kind === 'toOne' ? fieldExpression(owner, relation.field, alias) : sql`${alias}.id`;
      joins.push(
        sql` left join (${isJsonApi ? this.#identifiers(each) : this.#flatRecords(each)}) as ${name} on ${name}.key = ${key}`,
      );
      const none = relation.kind === 'toOne' ? sql`null::json` : isJsonApi ? constant('[]') : sql`'[]'::json`;
      related.set(relation.name, sql`coalesce(${name}.value, ${none})`);
    }
    return { joins: join(joins, sql``), related };
  }

  /** Sums up the records of all relations. */
  summary(all: readonly Rows[], pageModel: CollectionModel, page: Sql): Sql {
    const isJsonApi = this.#planning.context.shape === 'jsonapi';
    const [only] = all;
    if (isJsonApi && only && all.length === 1 && only.node.relation.target.model.name !== pageModel.name) {
      // Read once, the rows of the relation are no table of their own. `bench:collections`, list with include: 375 → 310 µs of PostgreSQL.
      return sql`select ${recordsJson} as included, count(*) as "includedCount" from (${this.#records(only, 0)}) as u`;
    }
    const counts = all.map((each) => sql`(select count(*) from ${each.alias})`);
    const included = isJsonApi && all.length > 0 ? this.#included(all, pageModel, page) : sql`null`;
    return sql`select ${included} as included, ${join([sql`0`, ...counts], sql` + `)} as "includedCount"`;
  }

  /** The JSON:API records of all relations, each once, without those of the page. */
  #included(all: readonly Rows[], pageModel: CollectionModel, page: Sql): Sql {
    const uses = new Map<string, number>();
    for (const { node } of all) {
      const { name } = node.relation.target.model;
      uses.set(name, (uses.get(name) ?? 0) + 1);
    }
    const selects = all.map((each, index) => {
      const isPaged = each.node.relation.target.model.name === pageModel.name;
      const others = sql` where not exists (select 1 from ${page} where ${page}.id = ${each.alias}.id)`;
      return sql`${this.#records(each, index)}${isPaged ? others : empty}`;
    });
    const union = join(selects, sql` union all `);
    const isUnique = [...uses.values()].every((count) => count === 1);
    const records = isUnique
      ? union
      : sql`select distinct on (u.type, u.id) u.* from (${union}) as u order by u.type, u.id, u.place`;
    return sql`(select ${recordsJson} from (${records}) as u)`;
  }

  /** JSON:API records of a relation. */
  #records(rows: Rows, place: number): Sql {
    const { model } = rows.node.relation.target;
    const { joins, related } = this.join(rows.children, model, rows.alias);
    const view = { ...this.#view(rows, related), isJoined: true };
    const json = recordJson(model, rows.alias, view);
    const columns = recordColumns(model, rows.alias, view);
    return sql`select ${constant(model.name)} as type, ${rows.alias}.id, ${integerCode(place)} as place, ${json} as record from ${rows.alias}${joins}${columns}`;
  }

  /** Resource identifiers of a relation to many, by the id of the record that they belong to. */
  #identifiers({ node: { relation }, alias }: Rows): Sql {
    const { model } = relation.target;
    const one = sql`concat(${constant(`{"type":${JSON.stringify(model.name)},"id":"`)}, ${alias}.id, '"}')`;
    return sql`select ${fieldExpression(model, relation.field, alias)} as key, concat('[', string_agg(${one}, ',' order by ${alias}.id), ']') as value from ${alias} group by 1`;
  }

  /** Flat records of a relation, by the id of the record that they belong to or their own. */
  #flatRecords(rows: Rows): Sql {
    const { relation } = rows.node;
    const { model } = relation.target;
    const { joins, related } = this.join(rows.children, model, rows.alias);
    const record = flatRecord(model, rows.alias, this.#view(rows, related));
    return relation.kind === 'toOne'
      ? sql`select ${rows.alias}.id as key, ${record} as value from ${rows.alias}${joins}`
      : sql`select ${fieldExpression(model, relation.field, rows.alias)} as key, json_agg(${record} order by ${rows.alias}.id) as value from ${rows.alias}${joins} group by 1`;
  }

  #view({ node }: Rows, related: ReadonlyMap<string, Sql>): RecordView {
    const { model, computed } = node.relation.target;
    return { shape: this.#planning.context.shape, only: this.#shown.get(model.name), computed, related };
  }
}

/** The JSON of the records `u`, in a fixed order. */
const recordsJson = sql`string_agg(u.record, ',' order by u.place, u.id)`;

/** The rows of a page without the one after it. */
export const pageRows = identifier('p');
