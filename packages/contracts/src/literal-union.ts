import Type from 'typebox';

/** Schema of a string that is one of `words`. The type is stated explicitly, because `map` widens it to string. */
export function literalUnion<const Word extends string>(
  words: readonly Word[],
  options: { readonly description?: string; readonly default?: Word } = {},
) {
  return Type.Unsafe<Word>(
    Type.Union(
      words.map((word) => Type.Literal(word)),
      options,
    ),
  );
}
