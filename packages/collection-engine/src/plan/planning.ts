import { computedFields } from '../formula/computed-fields.js';
import type { CollectionModel, FieldModel, FindCollection, FindReferrers } from '../model/collection-model.js';
import { recordAccessDenied } from '../request/request-errors.js';
import type { RecordContext } from '../request/record-context.js';
import type { ComputedFields } from '../respond/record-json.js';
import { parameter, Sql, sql } from '../sql/sql.js';
import { fieldExpression, tableOf } from '../storage/field-expression.js';

/** What the plan stage asks while it resolves the names of a request. */
export interface PlanDependencies {
  readonly find: FindCollection;
  readonly findReferrers: FindReferrers;
}

/** A way from a collection to another: over a field of its own, or over a field of the other that references it. */
export interface Relation {
  readonly name: string;
  readonly kind: 'toOne' | 'toMany';
  /** The field with the reference: of the collection itself for `toOne`, of the target for `toMany`. */
  readonly field: FieldModel;
  readonly target: PlannedCollection;
}

/** A collection that a request touches: the caller may read it, and its computed fields are resolved. */
export interface PlannedCollection {
  readonly model: CollectionModel;
  readonly computed: ComputedFields;
}

/**
 * The planning of one request: resolves collections and relations, and asks for access to each. Rules for rows will join
 * `visibleRows`, which every statement has for every table that it reads.
 */
export class Planning {
  readonly context: RecordContext;
  readonly #dependencies: PlanDependencies;
  #aliases = 0;

  constructor(context: RecordContext, dependencies: PlanDependencies) {
    this.context = context;
    this.#dependencies = dependencies;
  }

  /** Throws RECORD_ACCESS_DENIED if the caller may not read it. */
  async collection(model: CollectionModel): Promise<PlannedCollection> {
    const { access } = this.context;
    if (!access.mayRead(model)) throw recordAccessDenied({ collection: model.name, right: 'read' });
    return { model, computed: await computedFields(model, this.#dependencies.find, access) };
  }

  /** Returns undefined if the collection has no relation of that name. */
  async relation({ model }: PlannedCollection, name: string): Promise<Relation | undefined> {
    const { tenantId } = this.context;
    const own = model.fields.get(name);
    const target = own?.definition.references?.collection;
    if (own && target !== undefined) {
      const found = await this.#dependencies.find(tenantId, target);
      return { name, kind: 'toOne', field: own, target: await this.collection(found) };
    }
    for (const [reverse, child, field] of await this.#reverseRelations(model)) {
      if (reverse === name) return { name, kind: 'toMany', field, target: await this.collection(child) };
    }
    return undefined;
  }

  /** Names of all relations, for suggestions. */
  async relationNames({ model }: PlannedCollection): Promise<string[]> {
    const own = [...model.fields.values()].filter(({ traits }) => traits.kind === 'reference').map(({ name }) => name);
    return [...own, ...(await this.#reverseRelations(model)).map(([name]) => name)];
  }

  /** Returns a new alias of a table. */
  alias(): Sql {
    this.#aliases += 1;
    return Sql.code(`r${this.#aliases}`);
  }

  async #reverseRelations(model: CollectionModel): Promise<[string, CollectionModel, FieldModel][]> {
    const referrers = await this.#dependencies.findReferrers(this.context.tenantId, model.name);
    return referrers.flatMap((child) =>
      [...child.fields.values()].flatMap((field): [string, CollectionModel, FieldModel][] => {
        const { references } = field.definition;
        return references?.collection === model.name ? [[references.as ?? child.name, child, field]] : [];
      }),
    );
  }
}

export type Deleted = 'without' | 'with' | 'only';

/** The condition that every read of a table has: the tenant of the caller, and which records are deleted. */
export function visibleRows(
  alias: Sql,
  { tenantId }: Pick<RecordContext, 'tenantId'>,
  deleted: Deleted = 'without',
): Sql {
  const tenant = sql`${alias}.tenant_id = ${parameter(tenantId)}`;
  if (deleted === 'with') return tenant;
  return deleted === 'only'
    ? sql`${tenant} and ${alias}.deleted_at is not null`
    : sql`${tenant} and ${alias}.deleted_at is null`;
}

/** The condition that joins the rows of a relation's target with those that it starts from. */
export function relationJoin(relation: Relation, from: PlannedCollection, fromAlias: Sql, targetAlias: Sql): Sql {
  const [own, found] = relationEnds(relation, from, fromAlias, targetAlias);
  return sql`${found} = ${own}`;
}

/** The two values that are equal in rows which a relation joins: that of the row it starts from, and that of its target. */
export function relationEnds(
  relation: Relation,
  from: PlannedCollection,
  fromAlias: Sql,
  targetAlias: Sql,
): readonly [own: Sql, found: Sql] {
  return relation.kind === 'toOne'
    ? [fieldExpression(from.model, relation.field, fromAlias), sql`${targetAlias}.id`]
    : [sql`${fromAlias}.id`, fieldExpression(relation.target.model, relation.field, targetAlias)];
}

export const from = ({ model }: PlannedCollection, alias: Sql): Sql => sql`${tableOf(model)} as ${alias}`;
