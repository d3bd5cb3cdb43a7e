export default async (context, item) => ({ module: true, item });
