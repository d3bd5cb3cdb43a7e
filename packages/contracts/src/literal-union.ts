import Type from 'typebox';

/** One of these words. Said by hand, since the compiler loses them on the way through `map`. */
export function oneOf<const Word extends string>(
  words: readonly Word[],
  options: { readonly description?: string } = {},
) {
  return Type.Unsafe<Word>(
    Type.Union(
      words.map((word) => Type.Literal(word)),
      options,
    ),
  );
}
