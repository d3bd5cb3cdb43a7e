/** True in the tier `long`, which runs the ledgers of the stories once more with the sizes that we promise. */
const isLong = process.env['DROVER_TEST_TIER'] === 'long';

/** The size of a story that runs in both tiers. */
export const sized = (inStories: number, inLong: number): number => (isLong ? inLong : inStories);
